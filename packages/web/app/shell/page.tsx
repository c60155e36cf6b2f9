import type { HoldfastError } from '@holdfast/contract/client';
import type { ReactNode } from 'react';
import { LinkButton } from '../components/button.tsx';
import { Panel } from '../components/panel.tsx';
import { Problem, Skeleton } from '../components/states.tsx';
import { t } from '../texts/index.ts';
import { usePaths } from '../url.ts';
import { PageHeading } from './page-heading.tsx';
import { type Crumb, usePageTitle } from './page-title.tsx';

interface PageProps {
  title: ReactNode;
  /** An input in place of the title, where it can be edited. */
  titleInput?: ReactNode;
  /** Shown in the top bar and the tab; the last one names the page. */
  crumbs: readonly Crumb[];
  subtitle?: ReactNode;
  badge?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

/** The frame of a page: title, actions, content. */
export function PageFrame({ title, titleInput, crumbs, subtitle, badge, actions, children }: PageProps) {
  usePageTitle(crumbs);
  return (
    <div className="mx-auto flex w-full max-w-[1440px] flex-col gap-5 px-7 py-6 max-md:px-4 max-md:py-4">
      <header
        className={`flex flex-wrap justify-between gap-x-6 gap-y-3 max-sm:items-start ${subtitle ? 'items-end' : 'items-start'}`}
      >
        <div className="min-w-0 max-sm:flex-1 max-sm:basis-60">
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <PageHeading className={titleInput ? 'sr-only' : 'min-w-0 wrap-anywhere text-page font-semibold'}>
              {title}
            </PageHeading>
            {titleInput}
            {badge}
          </div>
          {subtitle && <div className="mt-0.5 wrap-anywhere text-table text-ink2">{subtitle}</div>}
        </div>
        {actions && (
          // Higher than the title: without a subtitle it would push the title down.
          <div className={`flex flex-wrap items-center gap-2 max-sm:gap-1 ${subtitle ? '' : 'sm:-my-0.5'}`}>
            {actions}
          </div>
        )}
      </header>
      {children}
    </div>
  );
}

/** Shown until the page's record is loaded. */
export function PageSkeleton({ isLate = false }: { isLate?: boolean }) {
  return (
    <div className="mx-auto w-full max-w-[1440px] px-7 py-6 max-md:px-4 max-md:py-4">
      <Skeleton isLate={isLate} />
    </div>
  );
}

interface ProblemPageProps {
  error: HoldfastError;
  onRetry: () => void;
  /** The list to go back to. */
  from: 'projects' | 'backups' | 'schedules' | 'storage' | 'restores' | 'webhooks';
}

/** Shown when a page's record cannot be loaded: the error, and a link back to the list. */
export function ProblemPage({ error, onRetry, from }: ProblemPageProps) {
  const [label, to] = [t.shell.nav[from], usePaths()[from]];
  const back = <LinkButton to={to}>{t.common.backTo(label)}</LinkButton>;
  return (
    <PageFrame title={label} crumbs={[{ label, to }]}>
      <Panel flush>
        <Problem error={error} onRetry={onRetry} action={back} />
      </Panel>
    </PageFrame>
  );
}
