import type { DataOf, Operations } from '@holdfast/contract';
import { Check, Clock, Send, TriangleAlert, X } from 'lucide-react';
import type { ReactNode } from 'react';
import { useAct, useRead } from '../../api/calls.ts';
import { useCan, useZone } from '../../api/organization.tsx';
import { Button } from '../../components/button.tsx';
import { CopyButton, CopyTextButton, Id } from '../../components/copy.tsx';
import { FormProblem, Problem, Skeleton } from '../../components/states.tsx';
import { Time, useNow } from '../../components/time.tsx';
import { formatBytes, formatDuration } from '../../format/numbers.ts';
import { formatIn } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import { type Delivery, DeliveryEvent, DeliveryState } from './delivery-state.tsx';
import { statusWords } from './status-words.ts';
import type { WebhookDetail } from './webhook-detail.ts';

type Request = DataOf<Operations['getDeliveryRequest']>;

interface DeliveryViewProps {
  webhook: WebhookDetail;
  deliveryId: string;
  /** Its row, if loaded: filters and paging may leave it out. */
  delivery: Delivery | undefined;
}

export function DeliveryView({ webhook, deliveryId, delivery }: DeliveryViewProps) {
  const params = { webhookId: webhook.id, deliveryId };
  const request = useRead('getDeliveryRequest', { params }, { everyMs: 4000 });
  const retry = useAct('retryDelivery');
  const canRetry = useCan('admin');
  const { deliveries } = t.webhooks;
  // A disabled webhook gets no retries.
  const nextAttemptAt = webhook.enabled ? (delivery?.nextAttemptAt ?? null) : null;
  if (request.error && !request.data) return <Problem error={request.error} onRetry={() => void request.refetch()} />;
  if (!request.data) return <Skeleton />;
  return (
    <section aria-label={deliveryId} className="min-w-0 overflow-hidden rounded-panel border border-line bg-surface">
      <header className="flex flex-wrap items-center gap-3 px-5 py-3.5">
        <div className="flex min-w-0 flex-1 basis-60 flex-wrap items-center gap-x-3 gap-y-1">
          <span className="text-body">
            <DeliveryEvent delivery={delivery ?? { eventType: eventOf(request.data), isTest: false }} />
          </span>
          {delivery ? (
            <DeliveryState delivery={delivery} isLong />
          ) : (
            isTaken(request.data) && <DeliveryState delivery={{ status: 'delivered', attempts: 1 }} />
          )}
        </div>
        <div className="flex flex-wrap gap-3">
          <CopyTextButton text={curlOf(request.data)}>{deliveries.copyCurl}</CopyTextButton>
          {canRetry && webhook.enabled && (
            <Button kind="primary" icon={Send} busy={retry.isPending} onClick={() => retry.mutate({ params })}>
              {deliveries.sendAgain}
            </Button>
          )}
        </div>
        <p className="w-full text-meta text-ink3">
          <Id id={deliveryId} keep={26} /> · {deliveries.sameId}
        </p>
        <FormProblem error={retry.error} />
      </header>
      <Cause request={request.data} isEnabled={webhook.enabled} nextAttemptAt={nextAttemptAt} />
      <Attempts request={request.data} nextAttemptAt={nextAttemptAt} />
      <Texts request={request.data} />
    </section>
  );
}

const isGoodAnswer = (statusCode: number | null | undefined) => typeof statusCode === 'number' && statusCode < 300;

const isTaken = ({ attempts }: Request) => isGoodAnswer(attempts.at(-1)?.statusCode);

/** Reads the event name from the body; each format has its own field. */
function eventOf({ body }: Request): string {
  try {
    const { type, event } = JSON.parse(body) as { type?: string; event?: string };
    return type ?? event ?? '';
  } catch {
    return '';
  }
}

interface CauseProps {
  request: Request;
  isEnabled: boolean;
  nextAttemptAt: string | null;
}

/** The problem in a sentence. */
function Cause({ request, isEnabled, nextAttemptAt }: CauseProps) {
  const zone = useZone();
  const now = useNow();
  const last = request.attempts.at(-1);
  if (!last || isTaken(request)) return null;
  const { deliveries } = t.webhooks;
  return (
    <div role="status" className="flex gap-3 border-line border-y bg-risk-weak px-5 py-3">
      <TriangleAlert size={17} aria-hidden className="mt-0.5 shrink-0 text-risk" />
      <div className="text-table">
        <p className="font-semibold">
          {last.statusCode === null
            ? (last.error ?? deliveries.noAnswer)
            : deliveries.answered(last.statusCode, statusWords[last.statusCode] ?? '')}
        </p>
        <p className="text-ink2">
          {nextAttemptAt && deliveries.nextAt(formatIn(nextAttemptAt, zone, now))}
          {isEnabled ? deliveries.mend : deliveries.enableFirst}
        </p>
      </div>
    </div>
  );
}

function Attempts({ request, nextAttemptAt }: { request: Request; nextAttemptAt: string | null }) {
  const { deliveries } = t.webhooks;
  return (
    <ol className="flex flex-col gap-2 border-line border-b px-5 py-3.5 text-table">
      {request.attempts.map((attempt) => {
        const isGood = isGoodAnswer(attempt.statusCode);
        const Icon = isGood ? Check : X;
        return (
          <li key={attempt.attempt} className="flex flex-wrap items-center gap-x-4">
            <span
              className={`inline-flex size-6 items-center justify-center rounded-full ${isGood ? 'bg-held-weak text-held' : 'bg-fail-weak text-fail'}`}
            >
              <Icon size={13} aria-hidden />
            </span>
            <span className="w-20">{deliveries.attempt(attempt.attempt)}</span>
            <span className="text-ink2">
              <Time at={attempt.timestamp} as="near" />
            </span>
            <span className="w-10 font-semibold">{attempt.statusCode ?? '—'}</span>
            <span className="min-w-0 flex-1 truncate text-ink2 max-sm:order-last max-sm:basis-full max-sm:whitespace-normal">
              {attempt.error ?? statusWords[attempt.statusCode ?? 0] ?? ''}
            </span>
            <span className="text-ink3 max-sm:ml-auto">{formatDuration(attempt.duration)}</span>
          </li>
        );
      })}
      {nextAttemptAt && (
        <li className="flex items-center gap-x-4 text-risk">
          <span className="inline-flex size-6 items-center justify-center rounded-full border-2 border-risk-mark">
            <Clock size={13} aria-hidden />
          </span>
          <span className="w-20 font-medium">{deliveries.attempt(request.attempts.length + 1)}</span>
          <Time at={nextAttemptAt} as="near" />
        </li>
      )}
    </ol>
  );
}

function Texts({ request }: { request: Request }) {
  const { deliveries } = t.webhooks;
  const last = request.attempts.at(-1);
  const sent = `${request.method} ${new URL(request.url).pathname}\n${Object.entries(request.headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')}\n\n${pretty(request.body)}`;
  return (
    <div className="flex flex-col gap-4 px-5 py-4">
      {last && (
        <Text
          title={deliveries.whatAnswered}
          detail={deliveries.answeredIn(last.attempt)}
          aside={last.responseBody && deliveries.keptOf(formatBytes(new Blob([last.responseBody]).size))}
          text={last.responseBody ? `${last.statusCode ?? ''} ${last.responseBody}` : deliveries.nothingAnswered}
        />
      )}
      <Text title={deliveries.whatSent} text={sent} aside={request.signedWith && <Signed by={request.signedWith} />} />
    </div>
  );
}

/** Explains why a receiver that knows only the new secret refuses it. */
function Signed({ by }: { by: 'current' | 'former' }) {
  const Icon = by === 'current' ? Check : TriangleAlert;
  return (
    <span className={`inline-flex items-center gap-1.5 ${by === 'current' ? 'text-held' : 'text-risk'}`}>
      <Icon size={13} aria-hidden /> {t.webhooks.deliveries.signedWith[by]}
    </span>
  );
}

interface TextProps {
  title: string;
  detail?: string;
  aside?: ReactNode;
  text: string;
}

function Text({ title, detail, aside, text }: TextProps) {
  return (
    <div>
      <p className="mb-1 flex items-center gap-2 text-table font-medium">
        {title}
        {detail && <span className="font-normal text-ink3">{detail}</span>}
        <span className="ml-auto text-meta font-normal text-ink3">{aside}</span>
        <CopyButton text={text} label={t.common.about(t.common.copy, title)} />
      </p>
      <pre
        tabIndex={0}
        className="max-h-80 overflow-auto rounded-control border border-line bg-bg px-4 py-3 font-mono text-meta whitespace-pre-wrap break-all"
      >
        {text}
      </pre>
    </div>
  );
}

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

function curlOf(request: Request): string {
  const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  const headers = Object.entries(request.headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`);
  return ['curl -X POST', quote(request.url), ...headers, `--data-raw ${quote(request.body)}`].join(' \\\n  ');
}
