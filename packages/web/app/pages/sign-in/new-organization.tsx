import { useState } from 'react';
import { useAct } from '../../api/calls.ts';
import { Button } from '../../components/button.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { FormProblem } from '../../components/states.tsx';
import { pathsOf } from '../../paths.ts';
import { fieldErrors } from '../../texts/errors.ts';
import { t } from '../../texts/index.ts';
import { useGo, useSearch } from '../../url.ts';
import { Frame } from './frame.tsx';

export function Page() {
  const [name, setName] = useState('');
  const [slug, setSlug] = useState('');
  const go = useGo();
  const create = useAct('createOrganization', { onDone: (made) => go(pathsOf(made.slug).start) });
  const faults = fieldErrors(create.error);
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

function Recover() {
  const [{ recover: deleted = '' }] = useSearch();
  const [id, setId] = useState(deleted);
  const go = useGo();
  const recover = useAct('recoverOrganization', { onDone: (back) => go(pathsOf(back.slug).overview) });
  return (
    <details className="border-line border-t pt-4" open={deleted !== ''}>
      <summary className="text-table font-medium">{t.newOrganization.recover}</summary>
      <form
        className="mt-3 flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          recover.mutate({ params: { organizationId: id.trim() } });
        }}
      >
        <Field label={t.newOrganization.recover} hint={t.newOrganization.recoverHint}>
          <TextInput mono value={id} onChange={(event) => setId(event.target.value)} placeholder="org_…" required />
        </Field>
        <FormProblem error={recover.error} />
        <Button type="submit" busy={recover.isPending}>
          {t.newOrganization.recover}
        </Button>
      </form>
    </details>
  );
}
