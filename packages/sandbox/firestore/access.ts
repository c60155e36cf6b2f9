import { RpcError } from './transport/status.ts';
import type { DatabaseName } from './values/name.ts';

export type AccessKind = 'read' | 'write' | 'admin';
export type AccessAnswer = 'allow' | 'deny' | 'unauthenticated';

/** Refuses matching calls; an absent property matches everything. */
export interface DenyRule {
  readonly project?: string;
  readonly database?: string;
  readonly access?: AccessKind;
  readonly token?: string;
}

/** A custom IAM: the OAuth part of the sandbox uses it to decide about the tokens it has issued. */
export type Authorize = (token: string, target: DatabaseName, access: AccessKind) => AccessAnswer;

/** Who may do what. Everyone may do everything until a test says otherwise. */
export class AccessControl {
  readonly #authorize: Authorize | null;
  #denyRules: DenyRule[] = [];
  readonly #expiredTokens = new Set<string>();

  constructor(authorize: Authorize | null) {
    this.#authorize = authorize;
  }

  deny(rule: DenyRule): void {
    this.#denyRules.push(rule);
  }

  expireToken(token: string): void {
    this.#expiredTokens.add(token);
  }

  reset(): void {
    this.#denyRules = [];
    this.#expiredTokens.clear();
  }

  check(token: string, target: DatabaseName, access: AccessKind): void {
    if (this.#expiredTokens.has(token)) throw unauthenticated();
    if (this.#denyRules.some((rule) => fits(rule, token, target, access))) throw denied();
    const answer = this.#authorize?.(token, target, access) ?? 'allow';
    if (answer === 'unauthenticated') throw unauthenticated();
    if (answer === 'deny') throw denied();
  }
}

function fits(rule: DenyRule, token: string, target: DatabaseName, access: AccessKind): boolean {
  return (
    (rule.project === undefined || rule.project === target.project) &&
    (rule.database === undefined || rule.database === target.database) &&
    (rule.access === undefined || rule.access === access) &&
    (rule.token === undefined || rule.token === token)
  );
}

function denied(): RpcError {
  return new RpcError('PERMISSION_DENIED', 'Missing or insufficient permissions.');
}

function unauthenticated(): RpcError {
  return new RpcError(
    'UNAUTHENTICATED',
    'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid ' +
      'authentication credential.',
  );
}
