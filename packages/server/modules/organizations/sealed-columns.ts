import type { SealedColumn } from '../../platform/secrets/sealed-columns.ts';
import { keyPurpose, passphrasePurpose } from './keys/organization-keys.ts';

export const organizationSealedColumns: readonly SealedColumn[] = [
  { table: 'organization_keys', column: 'sealed', identifiedBy: 'id', purpose: keyPurpose },
  { table: 'organization_keys', column: 'passphrase', identifiedBy: 'id', purpose: passphrasePurpose },
];
