import { z } from 'zod';
import { anyone, member, person } from '../access.ts';
import { api, created, done, list, ok, operation } from '../operation.ts';
import {
  acceptedInvitation,
  acceptInvitationRequest,
  createdServiceAccount,
  createServiceAccountRequest,
  invitation,
  inviteRequest,
  listedInvitation,
  member as memberSchema,
  resentInvitation,
  rotatedServiceAccount,
  rotateServiceAccountRequest,
  serviceAccount,
  shownInvitation,
  updatedMember,
  updateMemberRequest,
} from '../schemas/organizations.ts';
import { pageQuery, pathId } from '../schemas/primitives.ts';

const tag = 'Team';
/** A key never manages people or keys. */
const managesTeam = member('admin', null);
const inviteParams = z.object({ inviteId: pathId() });
const memberParams = z.object({ userId: pathId() });

export const listMembers = operation({
  id: 'listMembers',
  method: 'GET',
  path: api('/organizations/current/members'),
  tag,
  summary: 'List members',
  description: 'Everyone in the organization, in the order they joined.',
  access: member('viewer', 'organization:read'),
  query: pageQuery,
  success: list(memberSchema),
  errors: [],
});

export const updateMember = operation({
  id: 'updateMember',
  method: 'PUT',
  path: api('/organizations/current/members/{userId}'),
  tag,
  summary: 'Change the role of a member',
  description:
    'Nobody can grant or change a role above their own. Making another member `owner` transfers ownership: the old owner becomes admin at the same moment.',
  access: managesTeam,
  params: memberParams,
  body: updateMemberRequest,
  success: ok(updatedMember),
  errors: ['MEMBER_NOT_FOUND', 'CANNOT_REMOVE_OWNER', 'LIMIT_REACHED'],
});

export const removeMember = operation({
  id: 'removeMember',
  method: 'DELETE',
  path: api('/organizations/current/members/{userId}'),
  tag,
  summary: 'Remove a member',
  description:
    'Takes effect on the next call of the removed person. Everyone except the owner may remove themselves, in any role.',
  access: managesTeam,
  selfParameter: 'userId',
  params: memberParams,
  success: done,
  errors: ['MEMBER_NOT_FOUND', 'CANNOT_REMOVE_OWNER'],
});

export const createInvitation = operation({
  id: 'createInvitation',
  method: 'POST',
  path: api('/organizations/current/invites'),
  tag,
  summary: 'Invite a person',
  description:
    'Sends an e-mail with a link that is valid for seven days. Limits: 50 mails a day per organization, 100 a day per person, one an hour to an address; then RATE_LIMITED.',
  access: managesTeam,
  body: inviteRequest,
  success: created(invitation),
  errors: ['INVITATION_EXISTS', 'ALREADY_MEMBER'],
});

export const listInvitations = operation({
  id: 'listInvitations',
  method: 'GET',
  path: api('/organizations/current/invites'),
  tag,
  summary: 'List pending invitations',
  description: 'Invitations that are neither accepted nor cancelled nor expired.',
  access: managesTeam,
  query: pageQuery,
  success: list(listedInvitation),
  errors: [],
});

export const cancelInvitation = operation({
  id: 'cancelInvitation',
  method: 'DELETE',
  path: api('/organizations/current/invites/{inviteId}'),
  tag,
  summary: 'Cancel an invitation',
  description: 'Its link stops working.',
  access: managesTeam,
  params: inviteParams,
  success: done,
  errors: ['INVITATION_NOT_FOUND'],
});

export const resendInvitation = operation({
  id: 'resendInvitation',
  method: 'POST',
  path: api('/organizations/current/invites/{inviteId}/resend'),
  tag,
  summary: 'Send an invitation again',
  description:
    'Sends the e-mail again; the seven days start again. It counts as one more mail for the organization, the person and the address.',
  access: managesTeam,
  params: inviteParams,
  success: ok(resentInvitation),
  errors: ['INVITATION_NOT_FOUND'],
});

export const showInvitation = operation({
  id: 'showInvitation',
  method: 'POST',
  path: api('/invitations/show'),
  tag,
  summary: 'Show an invitation',
  description: 'For anyone who has the link: the organization, who invites, and the e-mail address. Changes nothing.',
  access: anyone,
  body: acceptInvitationRequest,
  success: ok(shownInvitation),
  errors: ['INVITATION_NOT_FOUND', 'INVITATION_EXPIRED'],
});

export const acceptInvitation = operation({
  id: 'acceptInvitation',
  method: 'POST',
  path: api('/invitations/accept'),
  tag,
  summary: 'Accept an invitation',
  description: 'As the signed-in invitee: the verified e-mail address must be the one that was invited.',
  access: person,
  body: acceptInvitationRequest,
  success: ok(acceptedInvitation),
  errors: ['INVITATION_NOT_FOUND', 'INVITATION_EXPIRED', 'ALREADY_MEMBER'],
});

export const getServiceAccount = operation({
  id: 'getServiceAccount',
  method: 'GET',
  path: api('/organizations/current/service-account'),
  tag,
  summary: 'Show the service account',
  description: 'What it may do and when it was last used. Its key is never shown again.',
  access: managesTeam,
  success: ok(serviceAccount),
  etag: true,
  errors: ['SERVICE_ACCOUNT_NOT_FOUND'],
});

export const createServiceAccount = operation({
  id: 'createServiceAccount',
  method: 'POST',
  path: api('/organizations/current/service-account'),
  tag,
  summary: 'Create the service account',
  description: 'Answers with its API key, once.',
  access: managesTeam,
  body: createServiceAccountRequest,
  success: created(createdServiceAccount),
  location: true,
  secretFields: ['apiKey'],
  errors: ['SERVICE_ACCOUNT_EXISTS'],
});

export const rotateServiceAccount = operation({
  id: 'rotateServiceAccount',
  method: 'POST',
  path: api('/organizations/current/service-account/rotate'),
  tag,
  summary: 'Rotate the API key',
  description:
    'Returns a new key, once. The old key stays valid for the chosen grace period. At most two keys work: another rotation in that time ends the older of the two at once.',
  access: managesTeam,
  body: rotateServiceAccountRequest,
  bodyOptional: true,
  success: ok(rotatedServiceAccount),
  secretFields: ['apiKey'],
  errors: ['SERVICE_ACCOUNT_NOT_FOUND'],
});

export const deleteServiceAccount = operation({
  id: 'deleteServiceAccount',
  method: 'DELETE',
  path: api('/organizations/current/service-account'),
  tag,
  summary: 'Delete the service account',
  description: 'Its keys stop working at once.',
  access: managesTeam,
  success: done,
  etag: true,
  errors: ['SERVICE_ACCOUNT_NOT_FOUND'],
});
