import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { requirePeer } from '../peers/install.ts';
import type { Contender } from './contender.ts';

interface Admin {
  initializeApp(options: { projectId: string }, name: string): { firestore(): { collection(path: string): unknown } };
}

/** It brings its own, older Admin SDK and insists on objects made by that. */
const ownRequire = createRequire(requirePeer.resolve('node-firestore-import-export'));
const admin = ownRequire('firebase-admin') as Admin;
const { firestoreExport } = ownRequire('node-firestore-import-export') as {
  firestoreExport: (start: unknown) => Promise<Record<string, unknown>>;
};
let apps = 0;

export const nodeFirestoreImportExport: Contender = async ({ project, collection, folder }) => {
  apps += 1;
  const database = admin.initializeApp({ projectId: project }, `bench-${apps}`).firestore();
  const data = await firestoreExport(database.collection(collection));
  await writeFile(join(folder, 'node-firestore-import-export.json'), JSON.stringify(data));
  return { documents: Object.keys(data).length };
};
