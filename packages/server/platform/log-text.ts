import { Writable } from 'node:stream';

const words: Readonly<Record<number, string>> = {
  10: 'TRACE',
  20: 'DEBUG',
  30: 'INFO',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL',
};
const errorLevel = 50;
const valueLengthMax = 500;

interface LoggedError {
  readonly type?: string;
  readonly code?: string;
  readonly message?: string;
  readonly stack?: string;
}

/** A stream of log lines for people: the time, a word for the level, the message, and its fields. */
export function textLines(write: (text: string) => void): Writable {
  return new Writable({
    decodeStrings: false,
    write: (chunk: string | Buffer, _encoding, done) => {
      for (const line of String(chunk).split('\n')) if (line !== '') write(`${textLine(line)}\n`);
      done();
    },
  });
}

/** One line of JSON in the form for people. A stack is only shown for unexpected errors. */
function textLine(line: string): string {
  const { time, level, msg, err, ...fields } = JSON.parse(line) as Record<string, unknown> & { err?: LoggedError };
  const at = new Date(Number(time)).toISOString().slice(0, 19).replace('T', ' ');
  const parts = [at, (words[Number(level)] ?? String(level)).padEnd(5), String(msg ?? '')];
  for (const [name, value] of Object.entries(fields)) parts.push(`${name}=${textOf(value)}`);
  if (err !== undefined)
    parts.push(`– ${textOf(err.message ?? err.type ?? 'unknown')}${err.code ? ` (${err.code})` : ''}`);
  const stack = Number(level) >= errorLevel ? err?.stack : undefined;
  return stack === undefined ? parts.join(' ') : `${parts.join(' ')}\n${stack.replace(/^/gm, '    ')}`;
}

/** One line, without characters that move the cursor. */
function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is taken out
  const plain = text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
  return plain.length > valueLengthMax ? `${plain.slice(0, valueLengthMax)}…` : plain;
}
