/**
 * Who may call an operation. The server enforces it, the documents show it, and the tests derive their expectations
 * from it.
 */

/** From the least to the most powerful; `roleAtLeast` compares positions in this list. */
export const roles = ['viewer', 'member', 'admin', 'owner'] as const;
export type Role = (typeof roles)[number];

export const scopes = [
  'backups:read',
  'backups:write',
  'backups:create',
  'backups:restore',
  'backups:delete',
  'schedules:read',
  'schedules:write',
  'projects:read',
  'projects:write',
  'storage:read',
  'storage:write',
  'organization:read',
  'organization:write',
] as const;
export type Scope = (typeof scopes)[number];

/** What a scope lets an API key do, as worded in the setup form and the documents. */
export const scopeDescriptions: Readonly<Record<Scope, string>> = {
  'backups:read': 'List and view backups, restores and drills, and look inside backups.',
  'backups:write': 'Create, verify, restore, drill, hold and delete backups.',
  'backups:create': 'Create, import, cancel and verify backups, and nothing else.',
  'backups:restore': 'Start, cancel, resume and undo restores and drills, and nothing else.',
  'backups:delete': 'Delete backups and what point-in-time recovery captured, and nothing else.',
  'schedules:read': 'View schedules and their runs.',
  'schedules:write': 'Create, modify and delete schedules, and so say how long their backups are kept.',
  'projects:read': 'View projects and their point-in-time recovery window.',
  'projects:write':
    'Connect and manage projects, switch point-in-time recovery; deletes neither backups nor what was captured.',
  'storage:read': 'View storage destinations.',
  'storage:write': 'Configure storage destinations.',
  'organization:read': 'View organization details, members, webhooks and the audit log.',
  'organization:write': 'Manage organization settings and webhooks.',
};

/** An API key without a list of permissions may read everything and change nothing. */
export const defaultScopes: readonly Scope[] = scopes.filter((scope) => scope.endsWith(':read'));

export const plans = ['starter', 'professional', 'enterprise'] as const;
export type Plan = (typeof plans)[number];

export type Access =
  /** Anyone, with no credential. */
  | { readonly kind: 'public' }
  /** A signed-in person, in no particular organization. API keys are refused with FORBIDDEN. */
  | { readonly kind: 'person' }
  /** A member of the organization with at least `role`, or an API key with `scope`; `null` means never by key. */
  | { readonly kind: 'organization'; readonly role: Role; readonly scope: Scope | null };

export const anyone = { kind: 'public' } as const satisfies Access;
export const person = { kind: 'person' } as const satisfies Access;

export function member<const R extends Role, const S extends Scope | null>(role: R, scope: S) {
  return { kind: 'organization', role, scope } as const satisfies Access;
}

export function roleAtLeast(role: Role, minimum: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(minimum);
}

/** A `:write` scope includes every other scope of its resource. */
export function scopesCover(granted: readonly string[], required: Scope): boolean {
  return granted.includes(required) || granted.includes(required.replace(/:\w+$/, ':write'));
}

export function planAtLeast(plan: Plan, minimum: Plan): boolean {
  return plans.indexOf(plan) >= plans.indexOf(minimum);
}
