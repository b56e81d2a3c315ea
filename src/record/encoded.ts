const BASE64 = /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20,}={0,2}/g;
const PERCENT = /(?:[A-Za-z0-9._~+*!'()-]|%[0-9A-Fa-f]{2}){8,}/g;
// oxlint-disable-next-line no-control-regex
const BINARY = /[^\t\n\r\u0020-\u007e]/;

function fromPercent(run: string): string {
  try {
    return run.includes('%') ? decodeURIComponent(run) : '';
  } catch {
    return '';
  }
}

function fromBase64(run: string): string {
  const decoded = Buffer.from(run, 'base64').toString('latin1');
  return BINARY.test(decoded) ? '' : decoded;
}

/** Runs in base64 or percent-encoding that hold a secret by `isClean`; null when there are more than `most` to look into. */
export function maskEncoded(text: string, mask: string, isClean: (decoded: string) => boolean, most: number): string | null {
  let looked = 0;
  const judge = (run: string, decoded: string): string => {
    if (decoded === '' || looked++ >= most) return run;
    return isClean(decoded) ? run : mask;
  };
  const out = text.replace(PERCENT, (run) => judge(run, fromPercent(run))).replace(BASE64, (run) => judge(run, fromBase64(run)));
  return looked > most ? null : out;
}
