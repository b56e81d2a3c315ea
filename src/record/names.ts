const KEYS =
  /(?:api|access|private|signing|encryption)[_.-]?key|(?:master|account|service|role|deploy|license|app|subscription|storage|client|session|secret|encrypt|webhook)[_.-]?key(?:[_.-]?data)?$/;
const WORDS =
  /passw|passphrase|passcode|pwd|pswd|secret(?!ar)|token(?!i[sz])|credential|authorization|cookie|signature|auth[_.-]header|(?:^|[_.-])(?:auth|sig|pass|psw|pw|creds?|jwt|otp|bearer)$|[_.-]pat$|^(?:db|user|smtp|root|admin)pass$/;
// What such a name says of a secret is no secret: where it lies, how long it is, when it ends. A file's name is none either.
const ABOUT =
  /[_.-](?:name|type|ur[il]|endpoint|file|path|dir|length|count|ids?|algorithm|policy|version|field|prefix|format|ttl|age|lifetime|limit|usage|expir(?:y|es|ation)(?:[_.-](?:in|at))?)$|\.(?:[cm]?[jt]sx?|py|rb|go|rs|java|md|json|ya?ml|toml|txt|sh)$/;
const LOUD_KEY = /^[A-Z0-9_]+_KEY$/;
const OTHER_KEY = /(?:PUBLIC|PUBLISHABLE|PRIMARY|FOREIGN|SORT|CACHE|PARTITION|ROUTING|IDEMPOTENCY|INDEX|GROUP)_KEY$/;

/** Whether what stands under this name is a secret by its name alone, in whatever case it is written. */
export function isTelling(name: string): boolean {
  const snake = name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toLowerCase();
  if (ABOUT.test(snake)) return false;
  return WORDS.test(snake) || KEYS.test(snake) || (LOUD_KEY.test(name) && !OTHER_KEY.test(name));
}
