import { Firestore } from '@google-cloud/firestore';
import { type ProtectedProject, protectProject, untilEnded } from '../../server/testing/protected-project.ts';
import type { TestApp } from '../../server/testing/test-app.ts';

/** A shop whose database can be written to, with an owner and a place for backups. */
export interface Shop extends ProtectedProject {
  readonly slug: string;
  readonly documents: Firestore;
  /** Credentials of the owner for the API. */
  readonly as: { token: string; organizationId: string };
  backUp(type?: 'full' | 'incremental'): Promise<string>;
}

export async function openShop(app: TestApp): Promise<Shop> {
  const shop = await protectProject(app);
  const as = { token: shop.owner.token, organizationId: shop.organizationId };
  const organization = await app.request('GET', '/api/v1/organizations/current', as);
  process.env.METADATA_SERVER_DETECTION = 'none';
  const documents = new Firestore({
    projectId: 'shop',
    host: `${shop.firestore.host}:${shop.firestore.port}`,
    ssl: false,
    customHeaders: { Authorization: 'Bearer owner' },
  });
  return {
    ...shop,
    as,
    documents,
    slug: organization.body.data.slug as string,
    backUp: async (type = 'full') => {
      const made = await app.request('POST', '/api/v1/backups', { ...as, body: { projectId: shop.projectId, type } });
      const backup = await untilEnded(app, `/api/v1/backups/${made.body.data.id}`, as);
      if (backup.status !== 'completed') throw new Error(JSON.stringify(backup.error));
      return backup.id as string;
    },
    close: async () => {
      await documents.terminate();
      await shop.close();
    },
  };
}
