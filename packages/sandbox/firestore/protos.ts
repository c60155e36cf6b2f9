import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import protobuf from 'protobufjs';

interface FieldJson {
  type: string;
}
interface NamespaceJson {
  fields?: Record<string, FieldJson>;
  nested?: Record<string, NamespaceJson>;
}

/**
 * Messages that are kept as raw bytes: on the wire a length-delimited message looks like a bytes field, so the proto
 * library passes messages through untouched when they are declared as `bytes`. So values keep their exact encoding and
 * map entries their order (a JavaScript object would reorder keys that look like numbers).
 */
const opaque = new Set(['Value', 'Document', 'ArrayValue']);
const nothingOpaque: ReadonlySet<string> = new Set();

function loadRoot(file: string, packagePath: readonly string[], opaque: ReadonlySet<string>): protobuf.Root {
  const require = createRequire(import.meta.url);
  const home = dirname(require.resolve('@google-cloud/firestore/package.json'));
  const json = JSON.parse(readFileSync(join(home, 'build/protos', file), 'utf8')) as NamespaceJson;
  let scope = json;
  for (const name of packagePath) scope = scope.nested![name]!;
  makeOpaque(scope, opaque);
  return protobuf.Root.fromJSON(json as protobuf.INamespace);
}

function makeOpaque(scope: NamespaceJson, opaque: ReadonlySet<string>): void {
  for (const field of Object.values(scope.fields ?? {})) if (opaque.has(field.type)) field.type = 'bytes';
  for (const nested of Object.values(scope.nested ?? {})) makeOpaque(nested, opaque);
}

const firestoreRoot = loadRoot('v1.json', ['google', 'firestore', 'v1'], opaque);
const adminRoot = loadRoot('admin_v1.json', ['google', 'firestore', 'admin', 'v1'], nothingOpaque);

let wholeRoot: protobuf.Root | undefined;

/** A complete message type for reading JSON; loaded on first use. */
export function wholeFirestoreType(name: string): protobuf.Type {
  wholeRoot ??= loadRoot('v1.json', ['google', 'firestore', 'v1'], nothingOpaque);
  return wholeRoot.lookupType(`google.firestore.v1.${name}`);
}

export function firestoreType(name: string): protobuf.Type {
  return firestoreRoot.lookupType(`google.firestore.v1.${name}`);
}

export function adminType(name: string): protobuf.Type {
  return adminRoot.lookupType(`google.firestore.admin.v1.${name}`);
}

export function encodeMessage(type: protobuf.Type, message: object): Buffer {
  return type.encode(message as Record<string, unknown>).finish() as Buffer;
}
