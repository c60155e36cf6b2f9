import type { GoogleState, Project, Role } from './state.ts';

export interface AccountCall {
  readonly state: GoogleState;
  readonly project: Project;
  readonly role: Role;
  readonly tenantId: string | undefined;
  readonly query: URLSearchParams;
  readonly body: Record<string, unknown>;
}
