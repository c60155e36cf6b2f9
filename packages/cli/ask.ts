import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { wrongUsage } from './command-failure.ts';

const inputBytesMax = 1024 * 1024;

/** Reads the whole input, such as a secret that should be neither in the shell's history nor in the process list. */
export async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > inputBytesMax) throw wrongUsage('The input is too long.');
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Asks a question without showing the answer. */
export async function askSecretly(question: string): Promise<string> {
  process.stderr.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: silent, terminal: true });
  const answer = await terminal.question('');
  terminal.close();
  process.stderr.write('\n');
  return answer;
}

/** Asks twice when the answer cannot be checked, because a typing mistake would be saved. */
export async function askTwice(question: string): Promise<string> {
  const answer = await askSecretly(question);
  if (answer !== (await askSecretly('Again: '))) throw wrongUsage('The two were not the same.');
  return answer;
}
