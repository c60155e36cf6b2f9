import type { SealedColumn } from '../../platform/secrets/sealed-columns.ts';
import { credentialsPurpose } from './connection/open-source.ts';

export const projectSealedColumns: readonly SealedColumn[] = [
  { table: 'projects', column: 'credentials', identifiedBy: 'id', purpose: credentialsPurpose },
];
