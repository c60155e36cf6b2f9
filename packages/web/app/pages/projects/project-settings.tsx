import { type FormEvent, useState } from 'react';
import { useAct } from '../../api/calls.ts';
import { Checkbox, Field, TextInput } from '../../components/field.tsx';
import { useLeaveQuestion } from '../../components/leave-question.tsx';
import { Panel } from '../../components/panel.tsx';
import { SaveRow } from '../../components/save-row.tsx';
import { differing } from '../../format/differing.ts';
import { fieldErrors } from '../../texts/errors.ts';
import { t } from '../../texts/index.ts';
import type { Project } from './connect-form.tsx';

const numberOrNull = (text: string) => (text.trim() === '' ? null : Number(text));

/** The values of the fields as text. */
interface Values {
  readonly name: string;
  readonly timeout: string;
  readonly rate: string;
  readonly budget: string;
  readonly rampUp: boolean;
  readonly users: boolean;
}

const valuesOf = ({ name, settings }: Project): Values => ({
  name,
  timeout: String(settings.backupTimeoutMinutes),
  rate: settings.readRateLimit?.toString() ?? '',
  budget: settings.maxReadsPerBackup?.toString() ?? '',
  rampUp: settings.writeRampUp,
  users: settings.includeAuthUsers,
});

/** Sends only the fields that were edited; what others changed meanwhile stays. */
function bodyOf({ name, timeout, rate, budget, rampUp, users }: Partial<Values>) {
  const settings = {
    ...(timeout === undefined ? {} : { backupTimeoutMinutes: Number(timeout) }),
    ...(rate === undefined ? {} : { readRateLimit: numberOrNull(rate) }),
    ...(budget === undefined ? {} : { maxReadsPerBackup: numberOrNull(budget) }),
    ...(rampUp === undefined ? {} : { writeRampUp: rampUp }),
    ...(users === undefined ? {} : { includeAuthUsers: users }),
  };
  return { ...(name === undefined ? {} : { name }), ...(Object.keys(settings).length === 0 ? {} : { settings }) };
}

const placedFaults = ['name', 'settings.backupTimeoutMinutes', 'settings.readRateLimit', 'settings.maxReadsPerBackup'];

/** Each field shows the saved value until it is edited. */
export function ProjectSettings({ project }: { project: Project }) {
  const [typed, setTyped] = useState<Partial<Values>>({});
  const [answered, setAnswered] = useState(project);
  const saved = valuesOf(answered.updatedAt > project.updatedAt ? answered : project);
  const { name, timeout, rate, budget, rampUp, users } = { ...saved, ...typed };
  const type = (values: Partial<Values>) => setTyped((former) => ({ ...former, ...values }));
  const { question } = useLeaveQuestion(differing<Values>(typed, saved));
  const save = useAct('updateProject');
  const faults = fieldErrors(save.error, placedFaults);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate(
      { params: { projectId: project.id }, body: bodyOf(typed) },
      {
        onSuccess: (answer) => {
          setAnswered(answer);
          setTyped((latest) => differing<Values>(latest, typed));
        },
      },
    );
  };
  return (
    <Panel title={t.projects.settings}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label={t.common.name} name="name" error={faults.name}>
            <TextInput value={name} required maxLength={100} onChange={(event) => type({ name: event.target.value })} />
          </Field>
          <Field
            label={t.projects.timeout}
            name="settings.backupTimeoutMinutes"
            error={faults['settings.backupTimeoutMinutes']}
          >
            <TextInput
              type="number"
              min={1}
              max={10080}
              required
              value={timeout}
              onChange={(event) => type({ timeout: event.target.value })}
            />
          </Field>
          <Field label={t.projects.readRate} hint={t.projects.readRateHint} error={faults['settings.readRateLimit']}>
            <TextInput type="number" min={1} value={rate} onChange={(event) => type({ rate: event.target.value })} />
          </Field>
          <Field label={t.projects.budget} hint={t.projects.budgetHint} error={faults['settings.maxReadsPerBackup']}>
            <TextInput
              type="number"
              min={0}
              value={budget}
              onChange={(event) => type({ budget: event.target.value })}
            />
          </Field>
        </div>
        <Checkbox
          label={t.projects.rampUp}
          hint={t.projects.rampUpHint}
          checked={rampUp}
          onChange={(event) => type({ rampUp: event.target.checked })}
        />
        <Checkbox
          label={t.projects.authUsers}
          checked={users}
          onChange={(event) => type({ users: event.target.checked })}
        />
        <SaveRow save={save} faults={faults} kind="secondary" />
      </form>
      {question}
    </Panel>
  );
}
