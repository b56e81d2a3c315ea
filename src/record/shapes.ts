// Behind the letter of an escaped line break or of a colour a word begins too: both stand in a tool's output.
const UNLESS_ESCAPE = String.raw`(?<!\\[nrt])(?<!\[[\d;]{0,12}m)`;
/** Where a word begins. */
export const START = `(?<![A-Za-z0-9_]${UNLESS_ESCAPE})`;
// Where a name of the maker begins, and what of it follows: 16 characters or more of letters and digits.
const MAKERS = [
  'hf', 'gsk', 'r8', 'ntn', 'secret', 'figd', 'glsa', 'glc', 'fo1', 'fm2', 'whsec', 'rubygems', 'CLOJARS', 'dckr_(?:pat|oat)', 'dop_v1', 'doo_v1', 'dor_v1',
  'sntry[su]', 'pscale_(?:tkn|pw|oauth)', 'sbp', 'sb_secret', 'shippo_(?:live|test)', 'shptka', 'tskey', 'nfp', 'lin_oauth', 'EZ[AT]K', 'dt0[cs]01',
].join('|'); // prettier-ignore
const DASHED =
  'gl(?:rt|dt|ptt|ft|soat|agent|imt)|xai|pplx|pul|PMAK|NRAK|NRII|GOCSPX|sq0(?:csp|atp|idp)|tskey-(?:auth|api|client)|pypi|AGE-SECRET-KEY';

/** Secrets that their own form gives away. Those whose beginning is no word are looked for everywhere. */
export const SHAPES: readonly [kind: string, pattern: RegExp][] = [
  ['anthropic-key', /sk-ant-[A-Za-z0-9_-]{10,}/g],
  ['openai-key', new RegExp(`${START}sk-[A-Za-z0-9_-]{16,}`, 'g')],
  ['github-token', /gh[pousr]_[A-Za-z0-9_]{20,}|github_pat_[A-Za-z0-9_]{20,}/g],
  ['gitlab-token', /glpat-[A-Za-z0-9_-]{16,}/g],
  ['slack-token', /(?:xox[abcdeoprs]|xapp)-[A-Za-z0-9%-]{10,}/g],
  ['aws-key-id', new RegExp(String.raw`${START}(?:A3T[A-Z0-9]|A(?:KI|GP|ID|RO|IP|NP|NV|SI)A)[A-Z0-9]{16}(?![A-Za-z0-9_])`, 'g')],
  ['google-key', /AIza[A-Za-z0-9_-]{35,}/g],
  ['google-token', new RegExp(String.raw`${START}(?:ya29\.|1//0)[A-Za-z0-9_-]{20,}`, 'g')],
  ['npm-token', /npm_[A-Za-z0-9_]{36,}/g],
  ['stripe-key', /[rs]k_(?:live|test)_[A-Za-z0-9]{16,}/g],
  ['shopify-key', /shp(?:at|ca|pa|ss)_[A-Za-z0-9]{32,}/g],
  ['linear-key', /lin_api_[A-Za-z0-9_]{32,}/g],
  ['sendgrid-key', new RegExp(String.raw`${START}SG\.[A-Za-z0-9_-]{16,128}\.[A-Za-z0-9_-]{16,}`, 'g')],
  ['1password-token', /ops_eyJ[A-Za-z0-9+/_-]{50,}={0,2}/g],
  ['atlassian-token', /ATATT3[A-Za-z0-9_=-]{20,}/g],
  [
    'token',
    new RegExp(
      String.raw`${START}(?:(?:${MAKERS})_|(?:${DASHED})-|glcbt-[0-9a-f]{1,2}_)(?=[A-Za-z]{0,64}\d)[A-Za-z0-9]{16,}[A-Za-z0-9_=-]*`,
      'g',
    ),
  ],
  [
    'token',
    new RegExp(
      String.raw`${START}(?:hv[sbr]|dp\.(?:pt|st|ct|sa|scim|audit)|[A-Za-z0-9]{14}\.atlasv1|pat[A-Za-z0-9]{14})\.[A-Za-z0-9_-]{24,}`,
      'g',
    ),
  ],
  ['token', new RegExp(String.raw`${START}(?:dapi|SK|key-)[0-9a-f]{32}(?![A-Za-z0-9])|${START}[0-9a-f]{32}-us\d{1,2}(?![A-Za-z0-9])`, 'g')],
  ['telegram-token', /(?<![0-9])\d{8,10}:A[A-Za-z0-9_-]{32,}/g],
  ['discord-token', new RegExp(String.raw`${START}[MNO][A-Za-z\d_-]{23,27}\.[A-Za-z\d_-]{6}\.[A-Za-z\d_-]{27,}`, 'g')],
  ['webhook', /(?<=hooks\.slack\.com\/(?:services|workflows|triggers)\/)[A-Za-z0-9/]{16,}/gi],
  ['webhook', /(?<=discord(?:app)?\.com\/api\/(?:v\d{1,2}\/)?webhooks\/\d{1,20}\/)[A-Za-z0-9_-]{16,}/gi],
  ['webhook', /(?<=\/(?:IncomingWebhook|hooks\/catch\/\d{1,12})\/)[A-Za-z0-9/-]{12,}/g],
  ['jwk', /(?<="(?:d|dp|dq|qi|k|p|q)\\{0,15}" ?: ?\\{0,15}")[A-Za-z0-9_-]{40,}/g],
  ['jwt', new RegExp(String.raw`(?<![A-Za-z0-9_-]${UNLESS_ESCAPE})eyJ[A-Za-z0-9_-]{8,4000}(?:\.[A-Za-z0-9_-]*){1,4}`, 'g')],
  ['password-hash', /\$(?:apr1|2[abxy]|[156]|y|argon2(?:id|i|d)|scrypt|pbkdf2[a-z0-9-]{0,20})\$[A-Za-z0-9./+$=,-]{16,}/g],
  ['password', /(?<=(?:^|[\n"'])[^\s:"']{1,100}:(?:\d{2,5}|\*):[^\s:"']{1,64}:[^\s:"']{1,64}:)[^\s:"'\\]{4,100}(?=$|[\s"'\\])/gm],
];

/** Looked for last: in a header it is a part of the value. */
export const BEARER = new RegExp(String.raw`(?<=${START}Bearer )(?=[^\s]{0,64}\d|[^\s]{24})[A-Za-z0-9._~+/-]{8,}=*`, 'gi');
