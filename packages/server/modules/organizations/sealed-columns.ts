import type { SealedColumn } from '../../platform/secrets/sealed-columns.ts';
import { keyPurpose } from './organization-keys.ts';

export const organizationSealedColumns: readonly SealedColumn[] = [
  { table: 'organization_keys', column: 'sealed', identifiedBy: 'id', purpose: keyPurpose },
];
