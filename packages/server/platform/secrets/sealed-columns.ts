import { mailPurpose } from '../mail.ts';
import { installationSecretPurpose } from './installation-secret.ts';

/** A text column with values sealed under the master key, registered so that a rotation of that key includes it. */
export interface SealedColumn {
  readonly table: string;
  readonly column: string;
  /** The column that the purpose is made from; together with the sealed value it identifies a row. */
  readonly identifiedBy: string;
  /** The purpose the value was sealed for. */
  readonly purpose: (id: string) => string;
}

/** The columns of the platform's own tables; each module adds its own. */
export const platformSealedColumns: readonly SealedColumn[] = [
  { table: 'outgoing_mails', column: 'sealed', identifiedBy: 'id', purpose: mailPurpose },
  {
    table: 'installation_secrets',
    column: 'sealed',
    identifiedBy: 'name',
    purpose: installationSecretPurpose,
  },
];
