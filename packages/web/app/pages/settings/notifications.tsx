import { notificationEvents } from '@holdfast/contract';
import { type FormEvent, useState } from 'react';
import { useAct } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import { Button } from '../../components/button.tsx';
import { Checkbox, ChoiceCards, Field, TextArea } from '../../components/field.tsx';
import { useLeaveQuestion } from '../../components/leave-question.tsx';
import { Panel } from '../../components/panel.tsx';
import { Saved } from '../../components/save-row.tsx';
import { FormProblem } from '../../components/states.tsx';
import { faultsOf } from '../../texts/errors.ts';
import { t } from '../../texts/index.ts';
import type { OrganizationDetail } from './general.tsx';

type Who = 'team' | 'others' | 'nobody';
type Event = (typeof notificationEvents)[number];

/** Who gets mail, and about what: once when it begins, once when it is over. */
export function Notifications({ organization }: { organization: OrganizationDetail }) {
  const canEdit = useCan('admin');
  const words = t.settings.notifications;
  const { notifications } = organization.settings;
  if (canEdit) return <Form organization={organization} />;
  return (
    <Panel title={words.title}>
      <p className="text-table text-ink2">
        {notifications === null ? words.who.team : notifications.emails.join(', ') || words.who.nobody}
      </p>
    </Panel>
  );
}

function Form({ organization }: { organization: OrganizationDetail }) {
  const words = t.settings.notifications;
  const stored = organization.settings.notifications;
  const [who, setWho] = useState<Who>(stored === null ? 'team' : stored.emails.length > 0 ? 'others' : 'nobody');
  const [emails, setEmails] = useState(stored?.emails.join('\n') ?? '');
  const [events, setEvents] = useState<readonly Event[]>(stored?.events ?? notificationEvents);
  const save = useAct('updateOrganization');
  const addresses = emails.split(/[\s,;]+/).filter(Boolean);
  const notifications = who === 'team' ? null : { emails: who === 'others' ? addresses : [], events: [...events] };
  const { question, keep } = useLeaveQuestion(notifications);
  // Which line of the sent list is wrong, and why.
  const [faultField, reason] = Object.entries(faultsOf(save.error)).find(([field]) => field.includes('emails')) ?? [];
  const sent = save.variables?.body?.settings?.notifications?.emails ?? [];
  const fault = reason && [sent[Number(faultField?.split('.').at(-1))], reason].filter(Boolean).join(': ');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate({ body: { settings: { notifications } } }, { onSuccess: () => keep(notifications) });
  };
  return (
    <Panel title={words.title}>
      <form onSubmit={submit} className="flex max-w-2xl flex-col gap-4">
        <p className="text-table text-ink2">{words.text}</p>
        <ChoiceCards<Who>
          label={words.whoLabel}
          name="who"
          columns="grid-cols-1 sm:grid-cols-3"
          value={who}
          onChange={setWho}
          choices={(['team', 'others', 'nobody'] as const).map((value) => ({
            value,
            title: words.who[value],
            detail: words.who[`${value}Hint`],
          }))}
        />
        {who === 'others' && (
          <Field label={words.emails} hint={words.emailsHint} error={fault}>
            <TextArea rows={3} value={emails} onChange={(event) => setEmails(event.target.value)} />
          </Field>
        )}
        {who === 'others' && (
          <fieldset className="flex flex-col gap-2">
            <legend className="mb-1 font-medium text-table">{words.events}</legend>
            {notificationEvents.map((event) => (
              <Checkbox
                key={event}
                label={words.event[event]}
                checked={events.includes(event)}
                onChange={({ target }) =>
                  setEvents(target.checked ? [...events, event] : events.filter((one) => one !== event))
                }
              />
            ))}
          </fieldset>
        )}
        {!(fault && who === 'others') && <FormProblem error={save.error} />}
        <div className="flex items-center gap-3">
          <Button
            kind="primary"
            type="submit"
            busy={save.isPending}
            disabled={who === 'others' && addresses.length === 0}
          >
            {t.common.save}
          </Button>
          <Saved save={save} />
        </div>
      </form>
      {question}
    </Panel>
  );
}
