import type { SealedColumn } from '../../platform/secrets/sealed-columns.ts';
import { storageCredentialsPurpose } from './access/open-store.ts';

export const storageSealedColumns: readonly SealedColumn[] = [
  { table: 'storage_destinations', column: 'credentials', identifiedBy: 'id', purpose: storageCredentialsPurpose },
];
