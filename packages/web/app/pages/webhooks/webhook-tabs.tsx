import { type FormEvent, useState } from 'react';
import { useAct } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import { Button } from '../../components/button.tsx';
import { Checkbox, Field, TextArea, TextInput } from '../../components/field.tsx';
import { useLeaveQuestion, useSecretQuestion } from '../../components/leave-question.tsx';
import { Panel } from '../../components/panel.tsx';
import { SaveRow } from '../../components/save-row.tsx';
import { SecretOnce } from '../../components/secret-once.tsx';
import { FormProblem } from '../../components/states.tsx';
import { fieldErrors } from '../../texts/errors.ts';
import { t } from '../../texts/index.ts';
import { EventPicker } from './event-picker.tsx';
import type { WebhookDetail } from './webhook-detail.ts';

export function WebhookEvents({ webhook }: { webhook: WebhookDetail }) {
  const [events, setEvents] = useState([...webhook.events]);
  const { question, keep } = useLeaveQuestion({ events });
  const save = useAct('patchWebhook', { onDone: (_, sent) => keep(sent.body) });
  const canEdit = useCan('admin');
  if (!canEdit)
    return (
      <Panel>
        <p className="font-mono text-table">{webhook.events.join(', ')}</p>
      </Panel>
    );
  return (
    <Panel>
      <div className="flex max-w-xl flex-col gap-4">
        <EventPicker format={webhook.format} value={events} onChange={setEvents} />
        <FormProblem error={save.error} />
        <div>
          <Button
            kind="primary"
            disabled={events.length === 0}
            busy={save.isPending}
            onClick={() => save.mutate({ params: { webhookId: webhook.id }, body: { events } })}
          >
            {t.webhooks.saveEvents}
          </Button>
        </div>
      </div>
      {question}
    </Panel>
  );
}

export function WebhookSecret({ webhook }: { webhook: WebhookDetail }) {
  const [secret, setSecret] = useState<string | null>();
  const rotate = useAct('rotateWebhookSecret', { onDone: (answer) => setSecret(answer.secret) });
  const question = useSecretQuestion(rotate.isPending);
  return (
    <Panel>
      <div className="flex max-w-xl flex-col items-start gap-3">
        <code className="font-mono">{webhook.secret ?? t.common.none}</code>
        <p className="text-table text-ink2">{t.webhooks.rotateText}</p>
        <Button busy={rotate.isPending} onClick={() => rotate.mutate({ params: { webhookId: webhook.id } })}>
          {t.webhooks.rotate}
        </Button>
        <FormProblem error={rotate.error} />
      </div>
      {question}
      {secret !== undefined && (
        <SecretOnce
          title={t.webhooks.secretTitle}
          text={t.webhooks.secretText}
          secret={secret}
          lost={t.webhooks.secretLost}
          onClose={() => setSecret(undefined)}
        />
      )}
    </Panel>
  );
}

const headersText = (headers: Readonly<Record<string, string>>) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');

function parseHeaders(text: string): Record<string, string> {
  const pairs = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    pairs.map((line) => [line.split(':')[0]?.trim() ?? '', line.split(':').slice(1).join(':').trim()]),
  );
}

export function WebhookSettings({ webhook }: { webhook: WebhookDetail }) {
  const [name, setName] = useState(webhook.name);
  const [url, setUrl] = useState(webhook.url);
  const [seconds, setSeconds] = useState(String(webhook.timeout / 1000));
  const [retry, setRetry] = useState(webhook.retryEnabled);
  const [headers, setHeaders] = useState(headersText(webhook.headers));
  const body = {
    name,
    url,
    timeout: Math.round(Number(seconds) * 1000),
    retryEnabled: retry,
    headers: parseHeaders(headers),
  };
  const { question, keep } = useLeaveQuestion(body);
  const save = useAct('patchWebhook', { onDone: (_, sent) => keep(sent.body) });
  const faults = fieldErrors(save.error, ['name', 'url', 'timeout', 'headers']);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate({ params: { webhookId: webhook.id }, body });
  };
  return (
    <Panel>
      <form onSubmit={submit} className="flex max-w-xl flex-col gap-4">
        <Field label={t.webhooks.name} error={faults.name}>
          <TextInput required value={name} onChange={(event) => setName(event.target.value)} />
        </Field>
        <Field label={t.webhooks.url} hint={t.webhooks.urlHint} error={faults.url}>
          <TextInput mono required type="url" value={url} onChange={(event) => setUrl(event.target.value)} />
        </Field>
        <Field label={t.webhooks.timeout} error={faults.timeout}>
          <TextInput
            type="number"
            min={1}
            max={60}
            step="any"
            value={seconds}
            onChange={(event) => setSeconds(event.target.value)}
          />
        </Field>
        <Checkbox label={t.webhooks.retry} checked={retry} onChange={(event) => setRetry(event.target.checked)} />
        <Field label={t.webhooks.headers} hint={t.webhooks.headersHint} error={faults.headers}>
          <TextArea rows={3} value={headers} onChange={(event) => setHeaders(event.target.value)} />
        </Field>
        <SaveRow save={save} faults={faults} />
      </form>
      {question}
    </Panel>
  );
}
