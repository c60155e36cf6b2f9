import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { encodeMessage, firestoreType } from '../packages/sandbox/firestore/protos.ts';
import { frame, MessageSplitter } from '../packages/sandbox/firestore/transport/framing.ts';
import { streamQuery } from './raw-reader.ts';

const writesPerRequest = 500;
const requestsInFlight = 16;
const messageBytesMax = 64 * 1024 * 1024;

export interface PreparedWrites {
  readonly documents: number;
  readonly requests: readonly Buffer[];
}

interface QueryAnswer {
  /** The sandbox's messages carry documents as the bytes they are. */
  readonly document?: Buffer;
}

/** A collection as BatchWrite requests into a project whose name is as long, framed and ready for the wire. */
export async function prepareWrites(
  address: string,
  { project, collection, targetProject }: { project: string; collection: string; targetProject: string },
): Promise<PreparedWrites> {
  if (project.length !== targetProject.length) throw new Error('The names of the projects differ in length.');
  const answerType = firestoreType('RunQueryResponse');
  const requestType = firestoreType('BatchWriteRequest');
  const database = `projects/${targetProject}/databases/(default)`;
  const splitter = new MessageSplitter(messageBytesMax, 'identity');
  const requests: Buffer[] = [];
  let writes: object[] = [];
  let documents = 0;
  const close = () => {
    if (writes.length > 0) requests.push(frame(encodeMessage(requestType, { database, writes })));
    writes = [];
  };
  await streamQuery(address, project, collection, (chunk) => {
    for (const message of splitter.push(chunk)) {
      const { document } = answerType.toObject(answerType.decode(message)) as QueryAnswer;
      if (!document) continue;
      const update = Buffer.from(document);
      update.write(targetProject, update.indexOf(`projects/${project}/`) + 'projects/'.length);
      writes.push({ update });
      documents += 1;
      if (writes.length === writesPerRequest) close();
    }
  });
  close();
  return { documents, requests };
}

/** As fast as Node can write: nothing but prepared bytes, sixteen requests under way, answers thrown away unread. */
export async function writeRaw(address: string, { requests }: PreparedWrites): Promise<void> {
  const session = connect(`http://${address}`);
  await once(session, 'connect');
  let next = 0;
  const lane = async () => {
    for (let request = requests[next++]; request; request = requests[next++]) await send(session, request);
  };
  await Promise.all(Array.from({ length: requestsInFlight }, lane));
  session.close();
}

async function send(session: ClientHttp2Session, request: Buffer): Promise<void> {
  const stream = session.request({
    ':method': 'POST',
    ':path': '/google.firestore.v1.Firestore/BatchWrite',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  let status: unknown;
  stream.on('trailers', (trailers) => {
    status = trailers['grpc-status'];
  });
  stream.resume();
  stream.end(request);
  await once(stream, 'end');
  if (status !== '0') throw new Error(`The server answered with status ${String(status)}.`);
}
