import type { JobStatus } from '@holdfast/contract';
import {
  Ban,
  CircleCheck,
  CircleDashed,
  CircleX,
  Clock,
  LoaderCircle,
  type LucideIcon,
  ShieldAlert,
  ShieldCheck,
  TriangleAlert,
} from 'lucide-react';
import type { ReactNode } from 'react';
import { t } from '../texts/index.ts';

export type Tone = 'held' | 'move' | 'risk' | 'fail' | 'off';

const pill: Record<Tone, string> = {
  held: 'bg-held-weak text-held',
  move: 'bg-move-weak text-move',
  risk: 'bg-risk-weak text-risk',
  fail: 'bg-fail-weak text-fail',
  off: 'bg-sunken text-ink2',
};
const ink: Record<Tone, string> = {
  held: 'text-held',
  move: 'text-move',
  risk: 'text-risk',
  fail: 'text-fail',
  off: 'text-ink3',
};
const marks: Record<Tone, LucideIcon> = {
  held: CircleCheck,
  move: LoaderCircle,
  risk: TriangleAlert,
  fail: CircleX,
  off: CircleDashed,
};

/** A state as a pill: colour, icon and word. */
export function Badge({ tone, icon, children }: { tone: Tone; icon?: LucideIcon | null; children: ReactNode }) {
  const Icon = icon === undefined ? marks[tone] : icon;
  return (
    <span
      className={`inline-flex items-center gap-1.5 rounded-full px-2.5 align-middle py-0.5 text-meta font-medium whitespace-nowrap ${pill[tone]}`}
    >
      {Icon && <Icon size={13} aria-hidden className={tone === 'move' ? 'turning' : ''} />}
      {children}
    </span>
  );
}

/** The same for text and tables, where the word of a good state stays grey. */
export function State({ tone, icon, children }: { tone: Tone; icon?: LucideIcon; children: ReactNode }) {
  const Icon = icon ?? marks[tone];
  const word = tone === 'held' || tone === 'off' ? 'text-ink2' : ink[tone];
  return (
    <span className="inline-flex items-center gap-2 align-middle whitespace-nowrap">
      <Icon size={16} aria-hidden className={`shrink-0 ${ink[tone]} ${tone === 'move' ? 'turning' : ''}`} />
      <span className={word}>{children}</span>
    </span>
  );
}

const jobTones: Record<JobStatus, Tone> = {
  pending: 'off',
  running: 'move',
  completed: 'held',
  failed: 'fail',
  cancelled: 'off',
};

export function JobState({ status, word }: { status: JobStatus; word?: ReactNode }) {
  const icon = status === 'pending' ? { icon: Clock } : status === 'cancelled' ? { icon: Ban } : {};
  return (
    <State tone={jobTones[status]} {...icon}>
      {word ?? t.jobs.status[status]}
    </State>
  );
}

export function JobBadge({ status }: { status: JobStatus }) {
  return <Badge tone={jobTones[status]}>{t.jobs.status[status]}</Badge>;
}

export type Verdict = 'protected' | 'late' | 'risk' | 'failing' | 'manual';

export function VerdictState({ verdict }: { verdict: Verdict }) {
  const look = {
    protected: { tone: 'held', icon: ShieldCheck },
    late: { tone: 'risk', icon: TriangleAlert },
    risk: { tone: 'risk', icon: TriangleAlert },
    failing: { tone: 'fail', icon: ShieldAlert },
    manual: { tone: 'off', icon: CircleDashed },
  } as const;
  const { tone, icon: Icon } = look[verdict];
  return (
    <span className={`inline-flex shrink-0 items-center gap-1.5 text-table whitespace-nowrap ${ink[tone]}`}>
      <Icon size={15} aria-hidden />
      {t.overview.verdict[verdict]}
    </span>
  );
}
