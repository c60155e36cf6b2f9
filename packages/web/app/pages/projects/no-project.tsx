import { type LucideIcon, Plus } from 'lucide-react';
import type { ReactNode } from 'react';
import { useCan } from '../../api/organization.tsx';
import { LinkButton } from '../../components/button.tsx';
import { Box } from '../../components/list.tsx';
import { Empty } from '../../components/states.tsx';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';

/** Shown without any project: what the page is for, and a button to connect one. */
export function NoProject({ icon, children }: { icon: LucideIcon; children: ReactNode }) {
  const canConnect = useCan('member');
  const paths = usePaths();
  const connect = canConnect && (
    <LinkButton kind="primary" icon={Plus} to={paths.newProject}>
      {t.projects.connect}
    </LinkButton>
  );
  return (
    <Empty icon={icon} title={t.projects.noneConnected} action={connect}>
      {children} {!canConnect && t.common.setUpBy.member}
    </Empty>
  );
}

/** The project of the address does not exist. */
export function UnknownProject({ icon }: { icon: LucideIcon }) {
  const paths = usePaths();
  return (
    <Box>
      <Empty
        icon={icon}
        title={t.projects.unknown}
        action={<LinkButton to={paths.projects}>{t.projects.title}</LinkButton>}
      >
        {t.projects.unknownText}
      </Empty>
    </Box>
  );
}
