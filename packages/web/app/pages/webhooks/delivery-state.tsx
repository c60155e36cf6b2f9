import type { DataOf, Operations } from '@holdfast/contract';
import { RefreshCw } from 'lucide-react';
import { Badge, State } from '../../components/status.tsx';
import { t } from '../../texts/index.ts';

export type Delivery = DataOf<Operations['listDeliveries']>['deliveries'][number];

/** What was sent; a sample of a test call says so, because nothing has happened. */
export function DeliveryEvent({
  delivery: { eventType, isTest },
}: {
  delivery: Pick<Delivery, 'eventType' | 'isTest'>;
}) {
  return (
    <span className="inline-flex items-center gap-2">
      <code className="font-mono">{eventType}</code>
      {isTest && (
        <Badge tone="off" icon={null}>
          {t.webhooks.deliveries.test}
        </Badge>
      )}
    </span>
  );
}

type Standing = Pick<Delivery, 'status' | 'attempts'>;

export function DeliveryState({ delivery, isLong }: { delivery: Standing; isLong?: boolean }) {
  const { status: words, attempts } = t.webhooks.deliveries;
  if (delivery.status === 'delivered') return <State tone="held">{words.delivered}</State>;
  if (delivery.status === 'failed') return <State tone="fail">{words.failed}</State>;
  return (
    <State tone={delivery.attempts > 0 ? 'risk' : 'off'} icon={RefreshCw}>
      {delivery.attempts === 0 ? words.first : isLong ? attempts(words.pending, delivery.attempts) : words.pending}
    </State>
  );
}
