import {
  Archive,
  BadgeCheck,
  CalendarClock,
  CircleDashed,
  CircleHelp,
  FileSearch,
  GitCompare,
  HardDrive,
  History,
  type LucideIcon,
  ShieldAlert,
  ShieldCheck,
  TriangleAlert,
} from 'lucide-react';
import type { ReactNode } from 'react';
import { useAll, useRead } from '../../api/calls.ts';
import { newestDataFirst } from '../../api/newest-backup.ts';
import { useCan, useZone } from '../../api/organization.tsx';
import { LinkButton, TextLink } from '../../components/button.tsx';
import { useNow } from '../../components/time.tsx';
import { formatCount, formatDuration } from '../../format/numbers.ts';
import { formatAge, formatRoughly } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import { ReconnectButton } from '../projects/reconnect.tsx';
import { lookAt } from './anomaly-bar.tsx';
import { goodPoints, type ProjectRow } from './facts.ts';

interface AnswerProps {
  question: string;
  icon: LucideIcon;
  tone: string;
  /** Drawn instead of the icon. */
  mark?: ReactNode;
  answer: string;
  children: ReactNode;
  actions?: ReactNode;
}

function Answer({ question, icon: Icon, tone, mark, answer, children, actions }: AnswerProps) {
  return (
    <section className="flex flex-col gap-2 py-1 md:px-8 md:first:pl-0 max-md:border-line max-md:border-b max-md:px-4 max-md:py-5">
      <p className="text-table text-ink2">{question}</p>
      <h2 className="flex min-w-0 items-center gap-3 text-verdict font-semibold tracking-tight">
        {mark ?? <Icon size={25} aria-hidden className={`shrink-0 ${tone}`} />}
        <span className="min-w-0 break-words">{answer}</span>
      </h2>
      <div className="max-w-lg text-ink2">{children}</div>
      {actions && <div className="mt-1 flex flex-wrap items-center gap-3">{actions}</div>}
    </section>
  );
}

export function ProtectedVerdict({ rows }: { rows: readonly ProjectRow[] }) {
  const canRun = useCan('member');
  const paths = usePaths();
  const bad = rows.filter(({ verdict }) => verdict === 'failing' || verdict === 'late');
  const atRisk = rows.filter(({ verdict }) => verdict === 'risk');
  const counted = rows.filter(({ verdict }) => verdict !== 'manual');
  const manual = rows.filter(({ verdict }) => verdict === 'manual');
  const [worst = atRisk[0]] = bad;
  const question = t.overview.isProtected;
  if (worst) {
    const isFailing = worst.verdict === 'failing';
    const name = worst.project.name;
    const answer =
      bad.length === 0
        ? atRisk.length === 1
          ? t.overview.atRisk(name)
          : t.overview.someAtRisk(atRisk.length)
        : bad.length === 1
          ? counted.length > 1
            ? t.overview.allBut(name)
            : t.overview.notOne(name)
          : t.overview.noneBut(bad.length);
    return (
      <Answer
        question={question}
        icon={isFailing ? ShieldAlert : TriangleAlert}
        tone={isFailing ? 'text-fail' : 'text-risk'}
        answer={answer}
        actions={<Mend row={worst} />}
      >
        <Why row={worst} />
      </Answer>
    );
  }
  if (rows.length === 0)
    return (
      <Answer question={question} icon={CircleDashed} tone="text-ink3" answer={t.overview.nothing}>
        {t.overview.nothingText}
      </Answer>
    );
  const backUp = canRun && (
    <LinkButton icon={Archive} to={paths.newBackup}>
      {t.overview.backUpNow}
    </LinkButton>
  );
  if (counted.some(({ verdict }) => verdict === null))
    return (
      <Answer question={question} icon={CircleHelp} tone="text-ink3" answer={t.overview.unjudged} actions={backUp}>
        {t.overview.unjudgedText}
      </Answer>
    );
  if (counted.length === 0)
    return (
      <Answer
        question={question}
        icon={CircleDashed}
        tone="text-ink3"
        answer={t.overview.byHand}
        actions={
          canRun && (
            <>
              <LinkButton kind="primary" icon={CalendarClock} to={paths.newSchedule()}>
                {t.overview.addSchedule}
              </LinkButton>
              {backUp}
            </>
          )
        }
      >
        {t.overview.byHandText}
      </Answer>
    );
  return (
    <Answer
      question={question}
      icon={ShieldCheck}
      tone="text-held"
      answer={t.overview.all(counted.length)}
      actions={backUp}
    >
      {t.overview.allText} {manual.length > 0 && t.overview.manualToo(manual.map(({ project }) => project.name))}
    </Answer>
  );
}

function Why({ row }: { row: ProjectRow }) {
  const now = useNow();
  const limitMs = (row.judged?.schedule?.intervalSeconds ?? 0) * 1000;
  const ageMs = row.newestAt ? now - Date.parse(row.newestAt) : 0;
  return (
    <p>
      {row.reason?.message ?? row.project.connection.error?.message}{' '}
      {row.newestAt === null
        ? t.overview.newestNone
        : limitMs > 0 && ageMs > limitMs && t.overview.newestOld(formatRoughly(ageMs), formatDuration(limitMs))}
    </p>
  );
}

/** The button that fixes the worst problem. */
function Mend({ row }: { row: ProjectRow }) {
  const canRun = useCan('member');
  const mend = useMend(row);
  // The error of the newest backup only; older ones may be fixed already.
  const newest = row.backups.find(({ status }) => status !== 'running' && status !== 'pending');
  const code = row.project.connection.error?.code ?? (newest?.status === 'failed' ? newest.error?.code : undefined);
  if (!canRun) return null;
  return (
    <>
      {isCut(row) ? (
        <ReconnectButton project={row.project} word={t.overview.reconnect(row.project.name)} />
      ) : (
        <LinkButton kind="primary" icon={mend.icon} to={mend.to}>
          {mend.word}
        </LinkButton>
      )}
      {code && <code className="font-mono text-meta text-ink2">{code}</code>}
    </>
  );
}

const isCut = ({ project, reason }: ProjectRow) =>
  project.connection.status !== 'connected' || reason?.code === 'unauthorized';

function useMend({ project, reason, judged }: ProjectRow): { icon: LucideIcon; to: string; word: string } {
  const paths = usePaths();
  const broken = useBrokenStorage()[0];
  const [anomaly] = judged?.anomalies ?? [];
  if (reason?.code === 'storage_error')
    return broken
      ? { icon: HardDrive, to: paths.destination(broken.id), word: t.overview.lookAt(broken.name) }
      : { icon: HardDrive, to: paths.storage, word: t.overview.lookAtStorage };
  if (reason?.code === 'no_storage') return { icon: HardDrive, to: paths.storage, word: t.overview.chooseStorage };
  if (reason?.code === 'anomaly' && anomaly)
    return { icon: GitCompare, to: lookAt(paths, anomaly), word: t.overview.haveALook };
  if (reason?.code === 'capture_stopped')
    return { icon: History, to: paths.time(project.id), word: t.overview.lookAt(t.time.title) };
  return { icon: Archive, to: `${paths.backups}?new=${project.id}`, word: t.overview.backUpNow };
}

const useBrokenStorage = () =>
  (useAll('listStorageDestinations', {}).rows ?? []).filter(({ status }) => status === 'error');

export function BackVerdict({ rows }: { rows: readonly ProjectRow[] }) {
  const canRun = useCan('member');
  const zone = useZone();
  const now = useNow();
  const paths = usePaths();
  const newestFirst = rows
    .filter(({ judged }) => judged?.lastDrill)
    .sort((a, b) => (b.judged?.lastDrill?.completedAt ?? '').localeCompare(a.judged?.lastDrill?.completedAt ?? ''));
  // A failed drill is shown first: the passed drill of another project proves nothing for it.
  const drilled = newestFirst.find(({ judged }) => judged?.lastDrill?.passed === false) ?? newestFirst[0];
  const drill = drilled?.judged?.lastDrill;
  const unproven = rows.filter(({ judged, newestAt }) => !judged?.lastDrill && newestAt !== null);
  const all = useAll('listStorageDestinations', {}).rows?.length;
  const broken = useBrokenStorage();
  const isUnread =
    broken.length > 0 &&
    rows.some(({ judged }) => judged?.protection.reasons.some(({ code }) => code === 'storage_error'));
  const hasBackup = rows.some((row) => goodPoints(row).length > 0 || row.newestAt !== null);
  const find = (
    <LinkButton icon={FileSearch} to={paths.find()}>
      {t.overview.findDocument}
    </LinkButton>
  );
  if (drill && drilled && !isUnread)
    return (
      <Answer
        question={t.overview.canGetBack}
        icon={drill.passed ? BadgeCheck : ShieldAlert}
        tone={drill.passed ? 'text-held' : 'text-fail'}
        {...(drill.passed && unproven.length > 0
          ? { mark: <PartSeal share={newestFirst.length / (newestFirst.length + unproven.length)} /> }
          : {})}
        answer={
          drill.passed
            ? provenWords(formatAge(drill.completedAt, zone, now), newestFirst.length, unproven.length)
            : t.overview.drillFailed(drilled.project.name)
        }
        actions={
          <>
            {find}
            <TextLink to={paths.backup(drill.backupId)}>{t.overview.openReport}</TextLink>
          </>
        }
      >
        <DrillWords backupId={drill.backupId} drillId={drill.id} project={drilled.project.name} />
        {unproven.length > 0 && <p>{t.overview.neverProven(unproven.map(({ project }) => project.name))}</p>}
      </Answer>
    );
  const [newest] = newestDataFirst(rows.flatMap(goodPoints));
  if (isUnread && hasBackup) {
    return (
      <Answer
        question={t.overview.canGetBack}
        icon={TriangleAlert}
        tone="text-risk"
        answer={broken.length === all ? t.overview.notNow : t.overview.notAllNow}
        actions={find}
      >
        {t.overview.notNowText(broken.map(({ name }) => name))}
      </Answer>
    );
  }
  return (
    <Answer
      question={t.overview.canGetBack}
      icon={hasBackup ? CircleHelp : CircleDashed}
      tone="text-ink3"
      answer={hasBackup ? t.overview.unproven : t.overview.notYet}
      actions={
        hasBackup && (
          <>
            {find}
            {newest && canRun && <TextLink to={paths.backup(newest.id)}>{t.overview.runDrill}</TextLink>}
          </>
        )
      }
    >
      {hasBackup ? t.overview.unprovenText : t.overview.notYetText}
    </Answer>
  );
}

/** The seal of a proof, coloured as far as the proof goes: some projects are proven, others are not. */
function PartSeal({ share }: { share: number }) {
  const outline =
    'M3.85 8.62a4 4 0 0 1 4.78-4.77 4 4 0 0 1 6.74 0 4 4 0 0 1 4.78 4.78 4 4 0 0 1 0 6.74 4 4 0 0 1-4.77 4.78 4 4 0 0 1-6.75 0 4 4 0 0 1-4.78-4.77 4 4 0 0 1 0-6.76Z';
  return (
    <svg
      width="25"
      height="25"
      viewBox="0 0 24 24"
      fill="none"
      strokeLinecap="round"
      aria-hidden="true"
      className="shrink-0"
    >
      <path d={`${outline}m5.15 3.38 2 2 4-4`} className="stroke-control" strokeWidth="1.5" />
      <path
        d={outline}
        className="stroke-held"
        strokeWidth="2.5"
        pathLength="100"
        strokeDasharray={`${share * 100} 100`}
      />
    </svg>
  );
}

const provenWords = (age: string, proven: number, unproven: number) =>
  unproven === 0 ? t.overview.proven(age) : t.overview.provenSome(formatCount(proven), formatCount(proven + unproven));

function DrillWords({ backupId, drillId, project }: { backupId: string; drillId: string; project: string }) {
  const drills = useRead('listDrills', { params: { backupId }, query: { limit: 10 } }, { everyMs: false });
  const drill = drills.data?.data.find(({ id }) => id === drillId);
  const report = drill?.report;
  if (!report) return drill?.error ? <p>{drill.error.message}</p> : null;
  return (
    <p>
      {t.overview.drillText(
        project,
        drill.targetProjectId !== null,
        formatCount(report.documentsMatched),
        formatCount(report.documentsExpected),
        formatDuration(report.restoreDurationMs),
      )}
    </p>
  );
}
