import type { Contender } from './contender.ts';

export const contenders = {
  holdfast: async () => (await import('./holdfast.ts')).holdfast,
  raw: async () => (await import('./raw.ts')).raw,
  sdk: async () => (await import('./sdk.ts')).sdk,
  'firestore-export-import': async () => (await import('./firestore-export-import.ts')).firestoreExportImport,
  'node-firestore-import-export': async () =>
    (await import('./node-firestore-import-export.ts')).nodeFirestoreImportExport,
} satisfies Record<string, () => Promise<Contender>>;

export type ContenderName = keyof typeof contenders;
