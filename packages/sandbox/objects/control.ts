import type { IncomingMessage, ServerResponse } from 'node:http';
import { checkFaultProfile, type Faults } from './faults.ts';

/** No bucket can have this name, so the control calls can use the store's port. */
export const controlPath = '/_sandbox/faults';
const bodyBytesMax = 64 * 1024;

/** `GET` shows the profile and the counts, `PUT` replaces the profile, `DELETE` ends all faults. */
export async function handleControl(request: IncomingMessage, response: ServerResponse, faults: Faults): Promise<void> {
  const answer = (status: number, body: unknown) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(`${JSON.stringify(body)}\n`);
  };
  try {
    if (request.method === 'PUT') faults.set(checkFaultProfile(JSON.parse(await readText(request))));
    else if (request.method === 'DELETE') faults.clear();
    else if (request.method !== 'GET') return answer(405, { error: 'GET, PUT or DELETE' });
    answer(200, { profile: faults.profile, counts: faults.counts });
  } catch (error) {
    answer(400, { error: error instanceof Error ? error.message : String(error) });
  }
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > bodyBytesMax) throw new Error('the profile is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
