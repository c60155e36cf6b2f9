import { pathOf } from '@holdfast/contract';
import type { Handlers } from '../../http/call.ts';
import { pageOf } from '../../platform/cursor.ts';
import type { Person, Principal } from '../../platform/principal.ts';
import { organizationNotFound } from './authorize-change.ts';
import type { InvitationsContext } from './context.ts';
import { getOrganization } from './get-organization.ts';
import { acceptInvitation } from './invitations/accept-invitation.ts';
import { cancelInvitation } from './invitations/cancel-invitation.ts';
import { createInvitation } from './invitations/create-invitation.ts';
import { listPending } from './invitations/invitation-store.ts';
import { resendInvitation } from './invitations/resend-invitation.ts';
import { showInvitation } from './invitations/show-invitation.ts';
import { currentKey } from './keys/organization-keys.ts';
import { encryptionKeyEtag, presentEncryptionKey } from './keys/present-encryption-key.ts';
import { kitIsShownOnce, takeRecoveryKit } from './keys/recovery-kit.ts';
import { removeEncryptionKey } from './keys/remove-encryption-key.ts';
import { rotateEncryptionKey } from './keys/rotate-encryption-key.ts';
import { setEncryptionKey } from './keys/set-encryption-key.ts';
import { createOrganization } from './lifecycle/create-organization.ts';
import { deleteOrganization } from './lifecycle/delete-organization.ts';
import { recoverOrganization } from './lifecycle/recover-organization.ts';
import { listDeletedOrganizations, listOrganizations } from './list-organizations.ts';
import { listMembers } from './members/member-store.ts';
import {
  presentInvitation,
  presentListedInvitation,
  presentMember,
  presentServiceAccount,
  serviceAccountEtag,
} from './members/present-team.ts';
import { removeMember } from './members/remove-member.ts';
import { updateMember } from './members/update-member.ts';
import { findOrganization } from './organization-store.ts';
import { organizationEtag, presentCreated, presentSubscriptionDetail, presentUpdated } from './present-organization.ts';
import { createServiceAccount } from './service-account/create-service-account.ts';
import { deleteServiceAccount, requireServiceAccount } from './service-account/delete-service-account.ts';
import { rotateServiceAccount } from './service-account/rotate-service-account.ts';
import { updateOrganization } from './update-organization.ts';
import { updateSubscription } from './update-subscription.ts';

const graceSecondsDefault = 86_400;

export function organizationHandlers(context: InvitationsContext): Handlers {
  return { ...ownHandlers(context), ...subscriptionHandlers(context), ...keyHandlers(context) };
}

export function teamHandlers(context: InvitationsContext): Handlers {
  return { ...memberHandlers(context), ...invitationHandlers(context), ...serviceAccountHandlers(context) };
}

/** The pipeline admits only people to calls whose access is `person`. */
function personOf(principal: Principal): Person {
  if (principal.kind !== 'person') throw new Error('a call for people was made by something else');
  return principal;
}

function ownHandlers(context: InvitationsContext): Handlers {
  return {
    createOrganization: async ({ principal, origin, body }) => {
      const founder = personOf(principal);
      const row = await createOrganization(context, { principal: founder, origin }, body);
      return { data: presentCreated(row, founder.userId), location: pathOf('getOrganization') };
    },
    listOrganizations: ({ principal, query }) => listOrganizations(context, personOf(principal).userId, query),
    listDeletedOrganizations: ({ principal, query }) =>
      listDeletedOrganizations(context, personOf(principal).userId, query),
    recoverOrganization: async ({ principal, origin, params }) => {
      const owner = personOf(principal);
      const row = await recoverOrganization(context, params.organizationId, { principal: owner, origin });
      return { data: presentCreated(row, owner.userId) };
    },
    getOrganization: ({ organization }) => getOrganization(context, organization.id),
    updateOrganization: async (call) => {
      const row = await updateOrganization(context, call.organization.id, call, call.body);
      return { data: presentUpdated(row), etag: organizationEtag(row) };
    },
    deleteOrganization: async (call) => ({
      data: await deleteOrganization(context, call.organization.id, call, call.body),
    }),
  };
}

function subscriptionHandlers(context: InvitationsContext): Handlers {
  return {
    getSubscription: async ({ organization }) => {
      const row = await context.database.tenant(organization.id, (transaction) =>
        findOrganization(transaction, organization.id),
      );
      if (!row) throw organizationNotFound();
      return { data: presentSubscriptionDetail(row, context.config), etag: organizationEtag(row) };
    },
    updateSubscription: async (call) => {
      const row = await updateSubscription(context, call.organization.id, call, call.body);
      return { data: presentSubscriptionDetail(row, context.config), etag: organizationEtag(row) };
    },
  };
}

function keyHandlers(context: InvitationsContext): Handlers {
  return {
    getEncryptionKey: async ({ organization }) => {
      const row = await context.database.tenant(organization.id, (transaction) =>
        currentKey(context, transaction, organization.id),
      );
      return { data: presentEncryptionKey(row), etag: encryptionKeyEtag(row) };
    },
    setEncryptionKey: async (call) => {
      const row = await setEncryptionKey(context, call.organization.id, call, call.body);
      return { data: presentEncryptionKey(row), etag: encryptionKeyEtag(row) };
    },
    removeEncryptionKey: async (call) => {
      await removeEncryptionKey(context, call.organization.id, call);
      return {
        message:
          "The service's own key is in use again. Backups made with the withdrawn key are unreadable until it is supplied again.",
      };
    },
    takeRecoveryKit: async (call) => ({
      data: await takeRecoveryKit(context, call.organization.id, call),
      replayed: kitIsShownOnce,
    }),
    rotateEncryptionKey: async (call) => {
      const { row, rewrapped } = await rotateEncryptionKey(context, call.organization.id, call);
      return { data: { ...presentEncryptionKey(row), rewrapped }, etag: encryptionKeyEtag(row) };
    },
  };
}

function memberHandlers(context: InvitationsContext): Handlers {
  return {
    listMembers: async ({ organization, query }) => {
      const position = context.cursors.read('members', organization.id, query.cursor);
      const [joinedAt, userId] = position?.split(' ') ?? [];
      const after = joinedAt && userId ? { joinedAt: new Date(joinedAt), userId } : undefined;
      const rows = await context.database.tenant(organization.id, (transaction) =>
        listMembers(transaction, organization.id, after, query.limit + 1),
      );
      const page = pageOf(rows, query.limit, (row) =>
        context.cursors.write('members', organization.id, `${row.joinedAt.toISOString()} ${row.userId}`),
      );
      return { data: page.rows.map(presentMember), nextCursor: page.nextCursor };
    },
    updateMember: async (call) => {
      const member = await updateMember(context, call.organization.id, call, call.params.userId, call.body.role);
      return { data: { userId: member.userId, role: member.role, updatedAt: member.updatedAt.toISOString() } };
    },
    removeMember: async (call) => {
      await removeMember(context, call.organization.id, call, call.params.userId);
      return { message: 'The member was removed.' };
    },
  };
}

function invitationHandlers(context: InvitationsContext): Handlers {
  return {
    createInvitation: async (call) => ({
      data: presentInvitation(await createInvitation(context, call.organization.id, call, call.body)),
    }),
    listInvitations: async ({ organization, query }) => {
      const before = context.cursors.read('invitations', organization.id, query.cursor);
      const rows = await context.database.tenant(organization.id, (transaction) =>
        listPending(transaction, organization.id, context.clock.now(), before, query.limit + 1),
      );
      const page = pageOf(rows, query.limit, (row) => context.cursors.write('invitations', organization.id, row.id));
      return { data: page.rows.map(presentListedInvitation), nextCursor: page.nextCursor };
    },
    cancelInvitation: async (call) => {
      await cancelInvitation(context, call.organization.id, call, call.params.inviteId);
      return { message: 'The invitation was cancelled.' };
    },
    resendInvitation: async (call) => {
      const row = await resendInvitation(context, call.organization.id, call, call.params.inviteId);
      const { id, email, resentAt, expiresAt } = row;
      return { data: { id, email, resentAt: resentAt.toISOString(), expiresAt: expiresAt.toISOString() } };
    },
    showInvitation: async ({ body }) => {
      const { organization, invitation } = await showInvitation(context, body.token);
      const { email, role, invitedByEmail, expiresAt } = invitation;
      const invitedBy = { email: invitedByEmail };
      return {
        data: { organization: { name: organization.name }, email, role, invitedBy, expiresAt: expiresAt.toISOString() },
      };
    },
    acceptInvitation: async ({ principal, origin, body }) => {
      const joined = await acceptInvitation(context, { principal: personOf(principal), origin }, body.token);
      const { id, name, slug } = joined.organization;
      return {
        data: { organization: { id, name, slug }, role: joined.role, joinedAt: joined.joinedAt.toISOString() },
      };
    },
  };
}

function serviceAccountHandlers(context: InvitationsContext): Handlers {
  return {
    getServiceAccount: async ({ organization }) => {
      const row = await context.database.tenant(organization.id, (transaction) =>
        requireServiceAccount(transaction, organization.id),
      );
      return { data: presentServiceAccount(row), etag: serviceAccountEtag(row) };
    },
    createServiceAccount: async (call) => {
      const { account, apiKey } = await createServiceAccount(context, call.organization.id, call, call.body);
      const { id, name, permissions, createdAt } = presentServiceAccount(account);
      return { data: { id, name, apiKey, permissions, createdAt }, location: pathOf('getServiceAccount') };
    },
    rotateServiceAccount: async (call) => {
      const graceSeconds = call.body?.graceSeconds ?? graceSecondsDefault;
      const rotated = await rotateServiceAccount(context, call.organization.id, call, graceSeconds);
      const { id, name, permissions } = presentServiceAccount(rotated.account);
      const previousKeyValidUntil = rotated.previousKeyValidUntil.toISOString();
      return { data: { id, name, apiKey: rotated.apiKey, permissions, previousKeyValidUntil } };
    },
    deleteServiceAccount: async (call) => {
      await deleteServiceAccount(context, call.organization.id, call);
      return { message: 'The service account was deleted; its keys no longer work.' };
    },
  };
}
