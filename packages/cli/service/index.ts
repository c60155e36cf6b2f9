import type { Command } from 'commander';
import { auditCommand } from './audit.ts';
import { backupCommand } from './backup/index.ts';
import { drillCommand } from './drill.ts';
import { encryptionKeyCommand } from './encryption-key.ts';
import { loginCommand } from './login.ts';
import { logoutCommand } from './logout.ts';
import { pitrCommand } from './pitr/index.ts';
import { projectCommand } from './project/index.ts';
import { recoveryKitCommand } from './recovery-kit.ts';
import { restoreCommand } from './restore/index.ts';
import { retentionCommand } from './retention.ts';
import { scheduleCommand } from './schedule/index.ts';
import { statusCommand } from './status.ts';
import { storageCommand } from './storage/index.ts';
import { invitationCommand } from './team/invitation.ts';
import { memberCommand } from './team/member.ts';
import { organizationCommand } from './team/organization.ts';
import { serviceAccountCommand } from './team/service-account.ts';
import { webhookCommand } from './webhook/index.ts';
import { whoamiCommand } from './whoami.ts';

/** Everything that calls a service. */
export function serviceCommands(): Command[] {
  return [
    loginCommand,
    logoutCommand,
    whoamiCommand,
    projectCommand,
    storageCommand,
    backupCommand,
    scheduleCommand,
    retentionCommand,
    restoreCommand,
    pitrCommand,
    drillCommand,
    statusCommand,
    webhookCommand,
    organizationCommand,
    memberCommand,
    invitationCommand,
    serviceAccountCommand,
    encryptionKeyCommand,
    recoveryKitCommand,
    auditCommand,
  ].map((command) => command());
}
