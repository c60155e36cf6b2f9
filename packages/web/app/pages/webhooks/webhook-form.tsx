import type { DataOf, EventFormat, Operations } from '@holdfast/contract';
import { type FormEvent, useState } from 'react';
import { useAct } from '../../api/calls.ts';
import { Field, SelectInput, TextInput } from '../../components/field.tsx';
import { FormButtons } from '../../components/form-buttons.tsx';
import { useLeaveQuestion } from '../../components/leave-question.tsx';
import { FormProblem } from '../../components/states.tsx';
import { fieldErrors } from '../../texts/errors.ts';
import { t } from '../../texts/index.ts';
import { EventPicker } from './event-picker.tsx';

interface WebhookFormProps {
  onDone: (webhook: DataOf<Operations['createWebhook']>) => void;
  onCancel: () => void;
}

export function WebhookForm({ onDone, onCancel }: WebhookFormProps) {
  const [name, setName] = useState('');
  const [url, setUrl] = useState('');
  const [format, setFormat] = useState<EventFormat>('standard');
  const [events, setEvents] = useState<string[]>(['backup.failed']);
  const body = { name, url, format, events };
  const { question, keep } = useLeaveQuestion(body);
  const create = useAct('createWebhook', {
    onDone: (webhook, sent) => {
      keep(sent.body);
      onDone(webhook);
    },
  });
  const faults = fieldErrors(create.error, ['name', 'url', 'events']);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate({ body });
  };
  return (
    <>
      <form onSubmit={submit} className="flex flex-col gap-4">
        <Field label={t.webhooks.name} name="name" error={faults.name}>
          <TextInput required value={name} onChange={(event) => setName(event.target.value)} maxLength={100} />
        </Field>
        <Field label={t.webhooks.url} name="url" hint={t.webhooks.urlHint} error={faults.url}>
          <TextInput
            mono
            required
            type="url"
            placeholder="https://"
            value={url}
            onChange={(event) => setUrl(event.target.value)}
          />
        </Field>
        <Field label={t.webhooks.format}>
          <SelectInput value={format} onChange={(event) => setFormat(event.target.value as EventFormat)}>
            <option value="standard">{t.webhooks.formats.standard}</option>
            <option value="simple">{t.webhooks.formats.simple}</option>
          </SelectInput>
        </Field>
        <EventPicker format={format} value={events} onChange={setEvents} />
        {faults.events && (
          <p role="alert" className="text-meta text-fail">
            {faults.events}
          </p>
        )}
        {create.error && Object.keys(faults).length === 0 && <FormProblem error={create.error} />}
        <FormButtons
          action={t.webhooks.create}
          busy={create.isPending}
          disabled={events.length === 0}
          onCancel={onCancel}
        />
      </form>
      {question}
    </>
  );
}
