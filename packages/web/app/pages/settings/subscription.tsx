import { type DataOf, type Operations, plans } from '@holdfast/contract';
import { type FormEvent, useState } from 'react';
import { useAct, useRead } from '../../api/calls.ts';
import { Button } from '../../components/button.tsx';
import { Field, SelectInput } from '../../components/field.tsx';
import { useLeaveQuestion } from '../../components/leave-question.tsx';
import { Facts, Panel } from '../../components/panel.tsx';
import { FormProblem, Pending, Problem, Skeleton } from '../../components/states.tsx';
import { differing } from '../../format/differing.ts';
import { formatBytes, formatCount } from '../../format/numbers.ts';
import { t } from '../../texts/index.ts';

type Detail = DataOf<Operations['getSubscription']>;
type Plan = Detail['plan'];
type Cycle = Detail['billingCycle'];

const words = t.settings.plan;

/** The plan, what it decides, and what of that is in use. */
export function Subscription() {
  const subscription = useRead('getSubscription', {});
  if (subscription.error && !subscription.data)
    return <Problem error={subscription.error} onRetry={() => void subscription.refetch()} />;
  if (!subscription.data) return <Skeleton rows={2} />;
  return (
    <div className="grid items-start gap-5 lg:grid-cols-2">
      <Choice subscription={subscription.data} />
      <div className="flex flex-col gap-5">
        <Given subscription={subscription.data} />
        <Used />
      </div>
    </div>
  );
}

/** Changing the plan needs a confirmation, because a lower one takes features away. */
function Choice({ subscription }: { subscription: Detail }) {
  const change = useAct('updateSubscription');
  const [chosen, setChosen] = useState<{ plan?: Plan; billingCycle?: Cycle }>({});
  const { question } = useLeaveQuestion(differing<typeof chosen>(chosen, subscription));
  const { plan, billingCycle } = { ...subscription, ...chosen };
  const isLower = plans.indexOf(plan) < plans.indexOf(subscription.plan);
  const isChanged = plan !== subscription.plan || billingCycle !== subscription.billingCycle;
  const isFixed = subscription.changedBy === 'operator';
  const save = (event: FormEvent) => {
    event.preventDefault();
    change.mutate({ body: { plan, billingCycle } }, { onSuccess: () => setChosen({}) });
  };
  return (
    <Panel title={words.title}>
      {question}
      <form onSubmit={save} className="grid gap-4 sm:grid-cols-2">
        <Field label={words.plan} hint={isFixed ? words.byOperator : undefined}>
          <SelectInput
            value={plan}
            disabled={isFixed}
            onChange={(event) => setChosen({ ...chosen, plan: event.target.value as Plan })}
          >
            {plans.map((one) => (
              <option key={one} value={one}>
                {words.plans[one]}
              </option>
            ))}
          </SelectInput>
        </Field>
        <Field label={words.cycle}>
          <SelectInput
            value={billingCycle}
            onChange={(event) => setChosen({ ...chosen, billingCycle: event.target.value as Cycle })}
          >
            <option value="monthly">{words.cycles.monthly}</option>
            <option value="yearly">{words.cycles.yearly}</option>
          </SelectInput>
        </Field>
        {isLower && <p className="text-risk text-table sm:col-span-2">{words.lower}</p>}
        <div className="flex flex-col items-start gap-3 sm:col-span-2">
          <FormProblem error={change.error} />
          <Button kind="primary" type="submit" busy={change.isPending} disabled={!isChanged}>
            {t.common.save}
          </Button>
        </div>
      </form>
    </Panel>
  );
}

function Given({ subscription }: { subscription: Detail }) {
  return (
    <Panel title={words.gives} flush>
      <table aria-label={words.gives} className="w-full border-collapse text-table">
        <thead>
          <tr className="border-line border-b text-left text-ink2 text-meta">
            {[words.plan, words.auditLog, words.ownKey].map((header) => (
              <th key={header} scope="col" className="px-4 py-2 font-medium">
                {header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {subscription.plans.map(({ plan, auditLogDays, ownEncryptionKey }) => (
            <tr key={plan} className={`border-line border-b ${plan === subscription.plan ? 'bg-bg' : ''}`}>
              <th scope="row" className="px-4 py-2 text-left font-medium">
                {words.plans[plan]}{' '}
                {plan === subscription.plan && <span className="ml-1 font-normal text-held">{words.current}</span>}
              </th>
              <td className="px-4 py-2">{words.keptDays(auditLogDays)}</td>
              <td className="px-4 py-2">{ownEncryptionKey ? words.yes : words.no}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="px-4 py-3 text-ink2 text-table">{words.unlimited}</p>
    </Panel>
  );
}

function Used() {
  const organization = useRead('getOrganization', {});
  const key = useRead('getEncryptionKey', {});
  const statistics = organization.data?.statistics;
  const ownKey = key.data?.source === 'customer' ? words.keyOwn : words.keyService;
  const counted = t.settings.statistics;
  return (
    <Panel title={words.used}>
      <Facts
        rows={[
          [words.ownKey, key.data ? ownKey : <Pending key="k" />],
          statistics !== undefined && [counted.projects, formatCount(statistics.projectCount)],
          statistics !== undefined && [counted.members, formatCount(statistics.memberCount)],
          statistics !== undefined && [counted.backups, formatCount(statistics.backupCount)],
          statistics !== undefined && [counted.stored, formatBytes(statistics.storageUsed)],
        ]}
      />
    </Panel>
  );
}
