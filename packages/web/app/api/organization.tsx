import { type ItemOf, type Operations, type Role, roleAtLeast } from '@holdfast/contract';
import { createContext, useContext } from 'react';

export type OrganizationSummary = ItemOf<Operations['listOrganizations']>;

export interface Workplace {
  readonly organization: OrganizationSummary;
  /** All organizations of the person, including this one. */
  readonly organizations: readonly OrganizationSummary[];
  readonly timezone: string;
  readonly me: { readonly id: string; readonly name: string; readonly email: string };
}

const WorkplaceContext = createContext<Workplace | null>(null);
export const WorkplaceProvider = WorkplaceContext.Provider;

/** Undefined outside an organization: calls are then about the person. */
export function useOrganizationId(): string | undefined {
  return useContext(WorkplaceContext)?.organization.id;
}

export function useWorkplace(): Workplace {
  const workplace = useContext(WorkplaceContext);
  if (!workplace) throw new Error('this page belongs inside an organization');
  return workplace;
}

/** Whether the signed-in person has at least this role. Actions above it are not shown. */
export function useCan(role: Role): boolean {
  return roleAtLeast(useWorkplace().organization.role, role);
}

/** The zone of shown times: the organization's, or the browser's outside of one. */
export function useZone(): string {
  return useContext(WorkplaceContext)?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
}
