import type { Mail } from '../../../platform/mail.ts';
import type { InvitationRow } from './invitation-store.ts';

const roleMeanings: Record<InvitationRow['role'], string> = {
  owner: 'full access',
  admin: 'you can manage members, settings and everything else',
  member: 'you can create and manage backups, schedules and projects',
  viewer: 'you can look at everything and change nothing',
};

/** What an invited person receives, as text and as HTML. */
export function invitationMail(
  invitation: InvitationRow,
  organizationName: string,
  baseUrl: string,
  token: string,
): Mail {
  const link = `${baseUrl}/invitations/accept?token=${token}`;
  const inviter = invitation.invitedByEmail;
  const until = `${new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(invitation.expiresAt)} UTC`;
  const role = `${invitation.role} (${roleMeanings[invitation.role]})`;
  return {
    to: invitation.email,
    subject: `${inviter} invites you to ${organizationName} on Holdfast`,
    link,
    text: text({ inviter, organizationName, role, link, until, email: invitation.email }),
    html: html({ inviter, organizationName, role, link, until, email: invitation.email }),
  };
}

interface Words {
  inviter: string;
  organizationName: string;
  role: string;
  link: string;
  until: string;
  email: string;
}

function text(words: Words): string {
  return `Hello,

${words.inviter} invites you to the organization "${words.organizationName}" on Holdfast, the backup service for Firestore.

Your role would be ${words.role}.

To accept, open this link and sign in as ${words.email}:

${words.link}

The link is good until ${words.until} and works once. If you do not know ${words.inviter}, or do not want to join, ignore this mail: nothing happens without you.
`;
}

function html(words: Words): string {
  const safe = Object.fromEntries(Object.entries(words).map(([key, value]) => [key, escapeHtml(value)])) as {
    [Key in keyof Words]: string;
  };
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Invitation</title></head>
<body style="margin:0;padding:24px;background:#f4f6f5;font:16px/1.55 system-ui,-apple-system,'Segoe UI',sans-serif;color:#17211d">
<div style="max-width:34rem;margin:0 auto;padding:32px;background:#ffffff;border:1px solid #dde4e0;border-radius:10px">
<h1 style="margin:0 0 16px;font-size:22px;line-height:1.3">Join ${safe.organizationName}</h1>
<p style="margin:0 0 12px">${safe.inviter} invites you to the organization <strong>${safe.organizationName}</strong> on Holdfast, the backup service for Firestore.</p>
<p style="margin:0 0 24px">Your role would be ${safe.role}.</p>
<p style="margin:0 0 24px"><a href="${safe.link}" style="display:inline-block;padding:12px 22px;background:#0f6b4b;color:#ffffff;text-decoration:none;border-radius:6px;font-weight:600">Accept the invitation</a></p>
<p style="margin:0 0 12px;font-size:14px;color:#5b6a63">Sign in as ${safe.email}. If the button does not work, open this link:<br><a href="${safe.link}" style="color:#0f6b4b;word-break:break-all">${safe.link}</a></p>
<p style="margin:0;font-size:14px;color:#5b6a63">The link is good until ${safe.until} and works once. If you do not know ${safe.inviter}, or do not want to join, ignore this mail: nothing happens without you.</p>
</div>
</body>
</html>
`;
}

function escapeHtml(value: string): string {
  return value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
