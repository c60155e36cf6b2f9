import type { DataOf, ItemOf, Operations, Scope } from '@holdfast/contract';
import type { InvitationRow } from '../invitations/invitation-store.ts';
import type { ServiceAccountRow } from '../service-account/service-account-store.ts';
import type { MemberRow } from './member-store.ts';

/** Rows of members, invitations and service accounts as the contract shows them. */

export function presentMember(row: MemberRow): ItemOf<Operations['listMembers']> {
  return {
    userId: row.userId,
    email: row.email,
    name: row.name,
    picture: row.picture,
    role: row.role,
    status: 'active',
    joinedAt: row.joinedAt.toISOString(),
    lastActiveAt: row.lastActiveAt.toISOString(),
  };
}

export function presentInvitation(row: InvitationRow): DataOf<Operations['createInvitation']> {
  return {
    id: row.id,
    email: row.email,
    role: row.role,
    status: row.status,
    expiresAt: row.expiresAt.toISOString(),
    createdAt: row.createdAt.toISOString(),
  };
}

export function presentListedInvitation(row: InvitationRow): ItemOf<Operations['listInvitations']> {
  return { ...presentInvitation(row), invitedBy: { id: row.invitedById, email: row.invitedByEmail } };
}

export function serviceAccountEtag(row: ServiceAccountRow): string {
  return `"${row.id}-${row.version}"`;
}

export function presentServiceAccount(row: ServiceAccountRow): DataOf<Operations['getServiceAccount']> {
  return {
    id: row.id,
    name: row.name,
    email: row.email,
    permissions: row.permissions as Scope[],
    lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
  };
}
