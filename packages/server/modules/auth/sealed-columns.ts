import type { SealedColumn } from '../../platform/secrets/sealed-columns.ts';
import { successorPurpose } from './sessions/refresh-session.ts';
import { flowPurpose } from './sign-in/sign-in-flows.ts';
import { refreshTokenPurpose } from './user-store.ts';

export const authSealedColumns: readonly SealedColumn[] = [
  { table: 'users', column: 'provider_refresh_token', identifiedBy: 'id', purpose: refreshTokenPurpose },
  { table: 'refresh_tokens', column: 'successor', identifiedBy: 'hash', purpose: successorPurpose },
  { table: 'sign_in_flows', column: 'sealed', identifiedBy: 'state_hash', purpose: flowPurpose },
  { table: 'signing_keys', column: 'private_jwk', identifiedBy: 'id', purpose: (id) => `signing_keys:${id}` },
];
