import type { DataOf, ItemOf, Operations } from '@holdfast/contract';
import {
  collectionShape,
  type DocumentChange,
  decodeDocument,
  type FieldChange,
  type JsonFields,
  type JsonValue,
  type ManifestBody,
  type View,
} from '@holdfast/engine';

import { nestCollections } from '../../projects/index.ts';

export type DocumentView = DataOf<Operations['getBackupDocument']>;
export type CollectionView = ItemOf<Operations['listBackupCollections']>;
export type ChangedView = DataOf<Operations['diffBackup']>['changed'][number];

/** Documents of a foreign file have no times; they get the time of the backup. */
export function presentDocument(path: string, bytes: Uint8Array, snapshotTime: string): DocumentView {
  const { name, fields, createTime = snapshotTime, updateTime = snapshotTime } = decodeDocument(bytes);
  return { name, path, fields: keepSigns(fields) as DocumentView['fields'], createTime, updateTime };
}

/** The collections of a view with their counts, from document names alone. A backup's manifest has them already. */
export async function collectionsOf(view: View, signal: AbortSignal): Promise<ManifestBody['collections']> {
  const counts = new Map<string, number>();
  for await (const page of view.entries({}, { signal })) {
    for (const { path } of page) {
      const shape = collectionShape(path);
      counts.set(shape, (counts.get(shape) ?? 0) + 1);
    }
  }
  return [...counts].map(([path, documents]) => ({ path, documents }));
}

export function presentCollections(listed: ManifestBody['collections']): CollectionView[] {
  return nestCollections(listed);
}

export function presentChanged({ path, changes }: Extract<DocumentChange, { kind: 'changed' }>): ChangedView {
  return { path, fields: changes.map(presentField) as ChangedView['fields'] };
}

function presentField({ path, before, after }: FieldChange) {
  const change = before === null ? 'added' : after === null ? 'removed' : 'changed';
  return { field: path, change, before: before && keepSign(before), after: after && keepSign(after) };
}

/** JSON.rawJSON is in the language since ES2025 and not yet in the type library in use. */
const { rawJSON } = JSON as typeof JSON & { rawJSON: (text: string) => number };

/** JSON.stringify writes -0 as 0; Firestore tells the two apart. */
function keepSigns(fields: JsonFields): JsonFields {
  const kept = Object.create(null) as Record<string, JsonValue>;
  for (const [key, value] of Object.entries(fields)) kept[key] = keepSign(value);
  return kept;
}

function keepSign(value: JsonValue): JsonValue {
  if ('doubleValue' in value) return Object.is(value.doubleValue, -0) ? { doubleValue: rawJSON('-0') } : value;
  if ('mapValue' in value)
    return value.mapValue.fields ? { mapValue: { fields: keepSigns(value.mapValue.fields) } } : value;
  if ('arrayValue' in value)
    return value.arrayValue.values ? { arrayValue: { values: value.arrayValue.values.map(keepSign) } } : value;
  if (!('geoPointValue' in value)) return value;
  const { latitude, longitude } = value.geoPointValue;
  const signed = (part: number) => (Object.is(part, -0) ? rawJSON('-0') : part);
  return { geoPointValue: { latitude: signed(latitude), longitude: signed(longitude) } };
}
