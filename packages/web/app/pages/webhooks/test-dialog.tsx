import { allowedEvents } from '@holdfast/contract';
import { type FormEvent, useState } from 'react';
import { useAct } from '../../api/calls.ts';
import { Dialog } from '../../components/dialog.tsx';
import { Field, SelectInput } from '../../components/field.tsx';
import { FormButtons } from '../../components/form-buttons.tsx';
import { FormProblem } from '../../components/states.tsx';
import { formatDuration } from '../../format/numbers.ts';
import { t } from '../../texts/index.ts';
import type { WebhookDetail } from './webhook-detail.ts';

/** Whether these subscriptions match the event. */
const isWanted = (name: string, wanted: readonly string[]) =>
  wanted.some(
    (entry) => entry === '*' || entry === name || (entry.endsWith('.*') && name.startsWith(entry.slice(0, -1))),
  );

export function TestDialog({ webhook, onClose }: { webhook: WebhookDetail; onClose: () => void }) {
  const names = allowedEvents(webhook.format);
  const [event, setEvent] = useState<string>(names.find((name) => isWanted(name, webhook.events)) ?? names[0] ?? '');
  const test = useAct('testWebhook');
  const result = test.data;
  const submit = (submitted: FormEvent) => {
    submitted.preventDefault();
    test.mutate({ params: { webhookId: webhook.id }, body: { event } });
  };
  return (
    <Dialog title={t.webhooks.testTitle} onClose={onClose}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        <Field label={t.webhooks.testEvent} hint={t.webhooks.testText}>
          <SelectInput className="font-mono" value={event} onChange={({ target }) => setEvent(target.value)}>
            {names.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </SelectInput>
        </Field>
        <FormProblem error={test.error} />
        {result && (
          <p role="status" className={`text-table ${result.success ? 'text-held' : 'text-fail'}`}>
            {result.success
              ? t.webhooks.testGood(result.statusCode ?? 0, formatDuration(result.duration))
              : t.webhooks.testBad(result.error ?? String(result.statusCode))}
          </p>
        )}
        <FormButtons action={t.webhooks.testIt} busy={test.isPending} onCancel={onClose} cancel={t.common.close} />
      </form>
    </Dialog>
  );
}
