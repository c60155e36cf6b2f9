import { dayMs } from '@holdfast/contract';
import { type FormEvent, useState } from 'react';
import { useAct } from '../../api/calls.ts';
import { useZone } from '../../api/organization.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { FormButtons } from '../../components/form-buttons.tsx';
import { FormProblem } from '../../components/states.tsx';
import { serviceNow } from '../../format/service-clock.ts';
import { inputClock, inputDate, instantOf } from '../../format/times.ts';
import { t } from '../../texts/index.ts';

/** Resends everything that failed since a time. */
export function RecoverDialog({ webhookId, onClose }: { webhookId: string; onClose: () => void }) {
  const zone = useZone();
  const [date, setDate] = useState(() => inputDate(serviceNow() - dayMs, zone));
  const [clock, setClock] = useState(() => inputClock(serviceNow() - dayMs, zone));
  const recover = useAct('recoverWebhook');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const since = instantOf(date, clock, zone);
    if (since) recover.mutate({ params: { webhookId }, body: { since: since.toISOString() } });
  };
  return (
    <Dialog title={t.webhooks.recoverTitle} onClose={onClose}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        <div className="grid grid-cols-2 gap-3">
          <Field label={t.webhooks.recoverSince} hint={zone}>
            <TextInput type="date" required value={date} onChange={(event) => setDate(event.target.value)} />
          </Field>
          <Field label={t.audit.columns.time}>
            <TextInput type="time" step={1} required value={clock} onChange={(event) => setClock(event.target.value)} />
          </Field>
        </div>
        <FormProblem error={recover.error} />
        {recover.data && (
          <p role="status">
            {recover.data.recovered === 0 ? t.webhooks.recoveredNone : t.webhooks.recovered(recover.data.recovered)}{' '}
            {recover.data.tryingAgain > 0 && t.webhooks.goesOn(recover.data.tryingAgain)}{' '}
            {recover.data.hasMore && t.webhooks.recoverMore}
          </p>
        )}
        <FormButtons
          action={t.webhooks.recoverIt}
          busy={recover.isPending}
          onCancel={onClose}
          cancel={t.common.close}
        />
      </form>
    </Dialog>
  );
}
