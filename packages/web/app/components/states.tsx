import type { JobError } from '@holdfast/contract';
import { HoldfastError } from '@holdfast/contract/client';
import { CircleX, Lock, type LucideIcon, RotateCw } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { useAll } from '../api/calls.ts';
import { useWorkplace } from '../api/organization.tsx';
import { pathsOf } from '../paths.ts';
import { explainError, isRetryable } from '../texts/errors.ts';
import { t } from '../texts/index.ts';
import { Button, LinkButton } from './button.tsx';
import { CopyButton } from './copy.tsx';

export const quietMs = 300;

/** True after a short delay: a fast answer needs no placeholder. */
function useSlow(isWaiting: boolean): boolean {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    if (!isWaiting) return setSlow(false);
    const timer = setTimeout(() => setSlow(true), quietMs);
    return () => clearTimeout(timer);
  }, [isWaiting]);
  return isSlow;
}

/** Placeholder rows. `isLate` shows them without the delay. */
export function Skeleton({ rows = 6, isLate = false }: { rows?: number; isLate?: boolean }) {
  const isSlow = useSlow(true) || isLate;
  return (
    <div role="status" aria-label={t.common.loading} className="min-h-24">
      {isSlow &&
        Array.from({ length: rows }, (_, index) => (
          <div key={index} className="flex items-center gap-4 border-line border-b px-4 py-3 last:border-b-0">
            <span className="skeleton size-4 rounded-full" />
            <span className="skeleton h-2.5 w-1/4" />
            <span className="skeleton h-2.5 w-1/5" />
            <span className="skeleton ml-auto h-2.5 w-1/6" />
          </div>
        ))}
    </div>
  );
}

/** Placeholder for one word inside a sentence. */
export function Pending() {
  return <span role="status" aria-label={t.common.loading} className="skeleton inline-block h-2.5 w-24 align-middle" />;
}

interface EmptyProps {
  icon: LucideIcon;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}

/** An empty list: one sentence about what it is for, one action. */
export function Empty({ icon: Icon, title, children, action }: EmptyProps) {
  return (
    <div className="flex flex-col items-center gap-2 px-6 py-12 text-center">
      <Icon size={26} aria-hidden className="text-held" />
      <h2 className="mt-1 text-body font-semibold">{title}</h2>
      {children && <p className="max-w-md text-table text-ink2">{children}</p>}
      {action && <div className="mt-2 flex flex-wrap justify-center gap-2">{action}</div>}
    </div>
  );
}

export function FilteredEmpty({ onClear }: { onClear: () => void }) {
  return (
    <div className="flex flex-col items-center gap-3 px-6 py-12 text-center">
      <p className="text-table text-ink2">{t.common.nothingMatches}</p>
      <Button onClick={onClear}>{t.common.clearFilters}</Button>
    </div>
  );
}

interface ProblemProps {
  error: HoldfastError | JobError | Error;
  onRetry?: (() => void) | undefined;
  action?: ReactNode;
}

/** An error: what happened, what to do, and the code and request id that lead to the log. */
export function Problem({ error, onRetry, action }: ProblemProps) {
  const code = 'code' in error ? String(error.code) : 'UNEXPECTED_ANSWER';
  const requestId = error instanceof HoldfastError ? error.requestId : undefined;
  const { title, advice } = explainError(error);
  // For a failed job, the message of the other side is more exact than our general sentence.
  const told = error instanceof HoldfastError || error.message === title ? null : error.message;
  const mono = [code, requestId].filter(Boolean).join(' · ');
  return (
    <div role="alert" className="flex gap-3 px-5 py-5">
      <CircleX size={18} aria-hidden className="mt-0.5 shrink-0 text-fail" />
      <div className="min-w-0">
        <p className="text-body font-semibold">{title}</p>
        {advice && <p className="mt-0.5 max-w-2xl text-table text-ink2">{advice}</p>}
        {told && told !== advice && <p className="mt-0.5 max-w-2xl break-words text-meta text-ink3">{told}</p>}
        <div className="mt-3 flex flex-wrap gap-2 empty:hidden">
          {onRetry && isRetryable(error) && (
            <Button kind="primary" icon={RotateCw} onClick={onRetry}>
              {t.common.tryAgain}
            </Button>
          )}
          {action}
        </div>
        <p className="mt-3 flex items-center gap-1 break-all font-mono text-meta text-ink3">
          {mono}
          <CopyButton text={mono} />
        </p>
      </div>
    </div>
  );
}

/** The same for a form, for errors that belong to no single field. */
export function FormProblem({ error }: { error: HoldfastError | null }) {
  if (!error) return null;
  const { title, advice } = explainError(error);
  return (
    <div role="alert" className="flex gap-2 rounded-control bg-fail-weak px-3 py-2 text-table">
      <CircleX size={16} aria-hidden className="mt-0.5 shrink-0 text-fail" />
      <div className="min-w-0">
        <p className="font-medium">{title}</p>
        {advice && <p className="text-ink2">{advice}</p>}
        <p className="break-all font-mono text-meta text-ink2">
          {[error.code, error.requestId].filter(Boolean).join(' · ')}
        </p>
      </div>
    </div>
  );
}

/** The same inside a list row: code, what happened, what to do. */
export function JobFault({ error }: { error: JobError | null }) {
  if (!error) return null;
  const { title, advice } = explainError(error);
  return (
    <p className="basis-full break-words text-ink2">
      <code className="font-mono text-meta text-fail">{error.code}</code>{' '}
      <span className="font-medium text-ink">{title}.</span> {error.message !== title && error.message} {advice}
    </p>
  );
}

/** Says who may do it, not only that the person may not. */
export function NoPermission({ title, children }: { title: string; children: ReactNode }) {
  const { organization } = useWorkplace();
  const owner = useAll('listMembers', {}, { everyMs: false }).rows?.find(({ role }) => role === 'owner');
  return (
    <div className="flex flex-col items-center gap-2 px-6 py-12 text-center">
      <Lock size={24} aria-hidden className="text-ink3" />
      <h2 className="mt-1 text-body font-semibold">{title}</h2>
      <p className="max-w-md text-table text-ink2">
        {t.common.youAre(t.roles[organization.role], organization.name)}{' '}
        {owner ? t.common.canChange(owner.name || owner.email) : children}
      </p>
      <div className="mt-2">
        <LinkButton to={pathsOf(organization.slug).overview}>{t.common.goToOverview}</LinkButton>
      </div>
    </div>
  );
}
