import type { DataOf, ItemOf, Operations } from '@holdfast/contract';
import type { Membership } from './memberships.ts';
import type { SessionRow } from './sessions/session-store.ts';
import type { UserRow } from './user-store.ts';

export function presentUser(user: UserRow, organizations: Membership[]): DataOf<Operations['getMe']> {
  return {
    id: user.id,
    email: user.email,
    name: user.name,
    picture: user.picture,
    organizations: organizations.map(({ id, name, role }) => ({ id, name, role })),
    createdAt: user.createdAt.toISOString(),
  };
}

export function presentSession(session: SessionRow, currentId: string): ItemOf<Operations['listSessions']> {
  return {
    id: session.id,
    createdAt: session.createdAt.toISOString(),
    lastUsedAt: session.lastUsedAt.toISOString(),
    ip: session.ip,
    userAgent: session.userAgent,
    current: session.id === currentId,
  };
}
