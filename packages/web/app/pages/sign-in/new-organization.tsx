import { useState } from 'react';
import { useAct, useAll } from '../../api/calls.ts';
import { Button } from '../../components/button.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { FormProblem } from '../../components/states.tsx';
import { formatDateTime } from '../../format/times.ts';
import { pathsOf } from '../../paths.ts';
import { fieldErrors } from '../../texts/errors.ts';
import { t } from '../../texts/index.ts';
import { useGo, useSearch } from '../../url.ts';
import { Frame } from './frame.tsx';

/** No organization yet: the browser's zone. */
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

export function Page() {
  const [name, setName] = useState('');
  const [slug, setSlug] = useState('');
  const go = useGo();
  const create = useAct('createOrganization', { onDone: (made) => go(pathsOf(made.slug).start) });
  const faults = fieldErrors(create.error, ['name', 'slug']);
  return (
    <Frame title={t.newOrganization.title}>
      <p className="text-ink2">{t.newOrganization.text}</p>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate({ body: { name, ...(slug ? { slug } : {}) } });
        }}
      >
        <Field label={t.newOrganization.name} name="name" error={faults.name}>
          <TextInput value={name} onChange={(event) => setName(event.target.value)} required maxLength={100} />
        </Field>
        <Field
          label={t.newOrganization.slug}
          name="slug"
          hint={t.newOrganization.slugHint}
          error={faults.slug ?? (create.error?.code === 'SLUG_TAKEN' ? create.error.message : undefined)}
        >
          <TextInput mono value={slug} onChange={(event) => setSlug(event.target.value)} maxLength={63} />
        </Field>
        {create.error && !faults.name && !faults.slug && create.error.code !== 'SLUG_TAKEN' && (
          <FormProblem error={create.error} />
        )}
        <Button kind="primary" type="submit" busy={create.isPending}>
          {t.newOrganization.create}
        </Button>
      </form>
      <Recover />
    </Frame>
  );
}

/** Deleted organizations that can be recovered. */
function Recover() {
  const [{ recover: justDeleted }] = useSearch();
  const deleted = useAll('listDeletedOrganizations', {});
  const go = useGo();
  const recover = useAct('recoverOrganization', { onDone: (back) => go(pathsOf(back.slug).overview) });
  if (!deleted.rows?.length) return null;
  const words = t.newOrganization;
  return (
    <section className="flex flex-col gap-3 border-line border-t pt-4" aria-label={words.recoverTitle}>
      <h2 className="text-section font-semibold">{words.recoverTitle}</h2>
      <ul className="flex flex-col gap-3">
        {deleted.rows.map(({ id, name, recoveryDeadline }) => (
          <li key={id} className="flex flex-wrap items-center justify-between gap-3">
            <div className="min-w-0">
              <p className="break-words font-medium">{name}</p>
              <p className="text-table text-ink2">
                {id === justDeleted && `${words.justDeleted} `}
                {words.recoverUntil(formatDateTime(recoveryDeadline, zone))}
              </p>
              <code className="font-mono text-meta text-ink3">{id}</code>
            </div>
            <Button
              busy={recover.isPending && recover.variables?.params.organizationId === id}
              onClick={() => recover.mutate({ params: { organizationId: id } })}
              aria-label={`${words.recover}: ${name}`}
            >
              {words.recover}
            </Button>
          </li>
        ))}
      </ul>
      <FormProblem error={recover.error} />
    </section>
  );
}
