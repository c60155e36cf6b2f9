import { type FormEvent, useState } from 'react';
import { useAct } from '../../api/calls.ts';
import { Checkbox, Field, TextInput } from '../../components/field.tsx';
import { useLeaveQuestion } from '../../components/leave-question.tsx';
import { Panel } from '../../components/panel.tsx';
import { SaveRow } from '../../components/save-row.tsx';
import { fieldErrors } from '../../texts/errors.ts';
import { t } from '../../texts/index.ts';
import type { Project } from './connect-form.tsx';

const numberOrNull = (text: string) => (text.trim() === '' ? null : Number(text));

interface Values {
  name: string;
  settings: Record<string, unknown>;
}

/** What somebody changed, and nothing else: what others set meanwhile stays. */
function changesOf<Body extends Values>(
  before: Body,
  now: Body,
): { name?: string; settings?: Partial<Body['settings']> } {
  const changed = Object.entries(now.settings).filter(([key, value]) => before.settings[key] !== value);
  return {
    ...(before.name === now.name ? {} : { name: now.name }),
    ...(changed.length === 0 ? {} : { settings: Object.fromEntries(changed) as Partial<Body['settings']> }),
  };
}

export function ProjectSettings({ project }: { project: Project }) {
  const { settings } = project;
  const [name, setName] = useState(project.name);
  const [timeout, setTimeoutMinutes] = useState(String(settings.backupTimeoutMinutes));
  const [rate, setRate] = useState(settings.readRateLimit?.toString() ?? '');
  const [budget, setBudget] = useState(settings.maxReadsPerBackup?.toString() ?? '');
  const [rampUp, setRampUp] = useState(settings.writeRampUp);
  const [users, setUsers] = useState(settings.includeAuthUsers);
  const body = {
    name,
    settings: {
      backupTimeoutMinutes: Number(timeout),
      readRateLimit: numberOrNull(rate),
      maxReadsPerBackup: numberOrNull(budget),
      writeRampUp: rampUp,
      includeAuthUsers: users,
    },
  };
  const { question, keep } = useLeaveQuestion(body);
  const [saved, setSaved] = useState(body);
  const save = useAct('updateProject');
  const faults = fieldErrors(save.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const taken = () => {
      keep(body);
      setSaved(body);
    };
    save.mutate({ params: { projectId: project.id }, body: changesOf(saved, body) }, { onSuccess: taken });
  };
  return (
    <Panel title={t.projects.settings}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label={t.common.name} name="name" error={faults.name}>
            <TextInput value={name} required maxLength={100} onChange={(event) => setName(event.target.value)} />
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
              onChange={(event) => setTimeoutMinutes(event.target.value)}
            />
          </Field>
          <Field label={t.projects.readRate} hint={t.projects.readRateHint} error={faults['settings.readRateLimit']}>
            <TextInput type="number" min={1} value={rate} onChange={(event) => setRate(event.target.value)} />
          </Field>
          <Field label={t.projects.budget} hint={t.projects.budgetHint} error={faults['settings.maxReadsPerBackup']}>
            <TextInput type="number" min={0} value={budget} onChange={(event) => setBudget(event.target.value)} />
          </Field>
        </div>
        <Checkbox
          label={t.projects.rampUp}
          hint={t.projects.rampUpHint}
          checked={rampUp}
          onChange={(event) => setRampUp(event.target.checked)}
        />
        <Checkbox label={t.projects.authUsers} checked={users} onChange={(event) => setUsers(event.target.checked)} />
        <SaveRow save={save} faults={faults} kind="secondary" />
      </form>
      {question}
    </Panel>
  );
}
