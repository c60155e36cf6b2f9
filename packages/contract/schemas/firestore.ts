import { z } from 'zod';
import { count, firestoreName, firestoreTime } from './primitives.ts';

/** Firestore's own names and values, as they appear in requests and answers. */

/** `users`, or `users/ada/orders`: an odd number of segments, none of them empty. */
function isCollectionPath(path: string): boolean {
  const segments = path.split('/');
  return segments.length % 2 === 1 && segments.every((segment) => segment !== '');
}

export const collectionPath = () =>
  firestoreName({ min: 1, max: 6144 }).refine(isCollectionPath, {
    error: 'must be the path of a collection, such as users or users/ada/orders',
  });

function isDocumentPath(path: string): boolean {
  const segments = path.split('/');
  return segments.length % 2 === 0 && segments.every((segment) => segment !== '');
}

export const documentPath = () =>
  firestoreName({ min: 3, max: 6144 }).refine(isDocumentPath, {
    error: 'must be the path of a document, such as users/ada',
  });

/** They are part of every record that is made from them, and a page has hundreds of records. */
const pathsCharactersMax = 65_536;
const areShortTogether = (paths: readonly string[]) =>
  paths.reduce((sum, { length }) => sum + length, 0) <= pathsCharactersMax;
const tooLongTogether = { error: 'must have at most 65,536 characters together' };

/** Collections that are excluded from all. */
export const leftOutPaths = () =>
  z
    .array(collectionPath())
    .max(1000)
    .refine(areShortTogether, tooLongTogether)
    // As the name of a collection it would exclude nothing.
    .refine((paths) => !paths.includes('*'), { error: '* would leave out everything' });

/** The single entry `*` means all of them. */
export const collectionPaths = () =>
  z
    .array(collectionPath())
    .min(1)
    .max(1000)
    .refine(areShortTogether, tooLongTogether)
    .refine((paths) => paths.length === 1 || !paths.includes('*'), { error: '* must stand alone' })
    .describe('Paths of collections; the single entry `*` means all.');

export const projectReference = () =>
  z
    .string()
    .min(1)
    .max(100)
    .regex(/^[a-zA-Z0-9][a-zA-Z0-9.:-]*$/, { error: 'must be the id of a Google Cloud project' });

export const databaseReference = () =>
  z
    .string()
    .min(1)
    .max(63)
    .regex(/^(?:\(default\)|[a-z0-9][a-z0-9-]*)$/, { error: 'must be the id of a Firestore database' });

const notAKey = 'must be the JSON key of a Google service account';

const keyObject = z
  .looseObject(
    {
      type: z.literal('service_account'),
      project_id: projectReference(),
      client_email: z.email().max(254),
      private_key: z
        .string()
        .min(1)
        .max(10_000)
        .regex(/^-----BEGIN [A-Z ]*PRIVATE KEY-----[A-Za-z0-9+/=\s]+-----END [A-Z ]*PRIVATE KEY-----\s*$/, {
          error: 'must be the private key as it stands in the key file, from -----BEGIN to -----END',
        }),
    },
    { error: notAKey },
  )
  .meta({
    id: 'GoogleServiceAccountKey',
    description: 'The JSON key of a Google service account. Sealed at rest, never returned.',
  });

function parseKey(value: string, context: z.RefinementCtx): unknown {
  try {
    return JSON.parse(value);
  } catch {
    context.addIssue({ code: 'custom', message: notAKey });
    return z.NEVER;
  }
}

const keyText = z
  .string()
  .max(20_000)
  .regex(/^\s*\{[\s\S]*\}\s*$/, { error: notAKey })
  .transform(parseKey)
  .pipe(keyObject);

/** The key as an object, or as the text of Google's file. */
export const serviceAccountKey = () => z.union([keyObject, keyText], { error: notAKey });

const maxFieldsPerMap = 20_000;

/** Written out, because a declaration file cannot infer a recursive type. */
export interface FirestoreValue {
  nullValue?: null | undefined;
  booleanValue?: boolean | undefined;
  integerValue?: string | undefined;
  doubleValue?: number | 'NaN' | 'Infinity' | '-Infinity' | '-0' | undefined;
  timestampValue?: string | undefined;
  stringValue?: string | undefined;
  bytesValue?: string | undefined;
  referenceValue?: string | undefined;
  geoPointValue?: { latitude: number; longitude: number } | undefined;
  arrayValue?: { values?: FirestoreValue[] | undefined } | undefined;
  mapValue?: { fields?: Record<string, FirestoreValue> | undefined } | undefined;
}

/** A typed value in Firestore's REST form. Integers are strings: they can exceed what JSON numbers hold. */
export const firestoreValue: z.ZodType<FirestoreValue, FirestoreValue> = z
  .object({
    nullValue: z.null().optional(),
    booleanValue: z.boolean().optional(),
    integerValue: z
      .string()
      .max(20)
      .regex(/^-?[0-9]+$/)
      .optional(),
    doubleValue: z.union([z.number(), z.enum(['NaN', 'Infinity', '-Infinity', '-0'])]).optional(),
    timestampValue: firestoreTime().optional(),
    stringValue: z
      .string()
      .max(1_048_576)
      .regex(/^[\s\S]*$/)
      .optional(),
    bytesValue: z.base64().max(1_500_000).optional(),
    referenceValue: firestoreName({ max: 7000 }).optional(),
    geoPointValue: z
      .object({ latitude: z.number().min(-90).max(90), longitude: z.number().min(-180).max(180) })
      .optional(),
    get arrayValue() {
      return z.object({ values: z.array(firestoreValue).max(maxFieldsPerMap).optional() }).optional();
    },
    get mapValue() {
      return z.object({ fields: z.record(z.string(), firestoreValue).optional() }).optional();
    },
  })
  .meta({
    id: 'FirestoreValue',
    description: 'One typed value in the form of the Firestore REST API; exactly one field is set.',
  });

export const firestoreFields = z
  .record(z.string(), firestoreValue)
  .meta({ id: 'FirestoreFields', description: 'The fields of a document by name.' });

export const backupDocument = z
  .object({
    name: firestoreName({ max: 7000 }).describe('The full resource name.'),
    path: firestoreName({ max: 6144 }).describe('The path within the database, such as `users/ada`.'),
    fields: firestoreFields,
    createTime: firestoreTime(),
    updateTime: firestoreTime(),
  })
  .meta({ id: 'BackupDocument', description: 'A document as the backup holds it.' });

export interface CollectionNode {
  id: string;
  path: string;
  documentCount: number;
  sampled: boolean;
  collections: CollectionNode[];
}

/** Collections below documents are grouped by name: one node for the orders of all users. */
export const collectionNode: z.ZodType<CollectionNode, CollectionNode> = z
  .object({
    id: firestoreName({ max: 1500 }),
    path: firestoreName({ max: 6144 }).describe('With `*` in place of document ids.'),
    documentCount: count().describe('0 with `sampled`: not counted.'),
    sampled: z
      .boolean()
      .describe(
        'Only some documents were read, or only 2,000 of more root collections: the count covers only a part, or a rare collection below may be missing.',
      ),
    get collections() {
      return z.array(collectionNode).max(1000).describe('Collections below its documents.');
    },
  })
  .meta({ id: 'CollectionNode', description: 'A collection, its size and the collections below it.' });
