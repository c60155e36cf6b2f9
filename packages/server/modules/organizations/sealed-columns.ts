import type { SealedColumn } from '../../platform/secrets/sealed-columns.ts';
import { keyPurpose } from './keys/organization-keys.ts';

export const organizationSealedColumns: readonly SealedColumn[] = [
  { table: 'organization_keys', column: 'sealed', identifiedBy: 'id', purpose: keyPurpose },
];
