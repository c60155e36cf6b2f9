import { wholeFirestoreType } from '../protos.ts';
import { type Dispatcher, requestBytesMax } from '../transport/dispatch.ts';
import { invalid, RpcError } from '../transport/status.ts';
import { WireReader } from '../values/wire.ts';
import { documentJson, timestampJson } from './document-json.ts';
import { encodeJson, invalidPayload } from './read-json.ts';
import { RestCall, type RestRequest, type RestResponse } from './rest-call.ts';

const path = /^\/v1\/(projects\/[^/]+\/databases\/[^/]+\/documents(?:\/.+)?):runQuery$/;
const grpcPath = '/google.firestore.v1.Firestore/RunQuery';

/** The parent of a query over REST; undefined for other requests. */
export function queriedParent(method: string | undefined, url: string): string | undefined {
  const parent = method === 'POST' ? path.exec(url.split('?')[0]!)?.[1] : undefined;
  return parent === undefined ? undefined : decodeURIComponent(parent);
}

export async function answerRunQuery(
  dispatcher: Dispatcher,
  parent: string,
  request: RestRequest,
  response: RestResponse,
): Promise<void> {
  const call = new RestCall('RunQuery', request, response, responseJson);
  try {
    const body = await bodyOf(request);
    await dispatcher.answer(grpcPath, call, () => encodeRequest(parent, body));
  } catch (error) {
    await call.fail(error);
  }
}

function encodeRequest(parent: string, body: string): Buffer {
  const json = parse(body);
  if (typeof json === 'object' && json !== null && 'explainOptions' in json)
    throw new RpcError('UNIMPLEMENTED', 'The sandbox explains no queries over REST.');
  return encodeJson(wholeFirestoreType('RunQueryRequest'), { ...(json as object), parent });
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    throw invalidPayload(String(error));
  }
}

async function bodyOf(request: RestRequest): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > requestBytesMax) throw invalid(`Request payload size exceeds the limit: ${requestBytesMax} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const tags = { document: 0x0a, transaction: 0x12, readTime: 0x1a, skippedResults: 0x20 };

/** An encoded RunQueryResponse in REST's form. */
function responseJson(message: Uint8Array): string {
  const parts: string[] = [];
  const reader = new WireReader(message);
  const { bytes } = reader;
  while (reader.more) {
    const tag = reader.uint32();
    if (tag === tags.document) parts.push(`"document":${documentJson(bytes, reader.delimited(), reader.position)}`);
    else if (tag === tags.readTime)
      parts.push(`"readTime":${timestampJson(bytes, reader.delimited(), reader.position)}`);
    else if (tag === tags.skippedResults) parts.push(`"skippedResults":${reader.int64()}`);
    else if (tag === tags.transaction) {
      const transaction = Buffer.from(bytes.subarray(reader.delimited(), reader.position));
      parts.push(`"transaction":"${transaction.toString('base64')}"`);
    } else reader.skip(tag & 7);
  }
  return `{${parts.join(',')}}`;
}
