import { TestBrowser } from './browser.ts';
import { clientId, clientSecret, startIdentityProvider, type TestIdentityProvider } from './identity-provider.ts';
import { startTestApp, type TestApp } from './test-app.ts';

export const publicUrl = 'https://holdfast.example';

/** A service with a sign-in provider, behind a proxy at `publicUrl`. */
export interface ProviderApp {
  readonly app: TestApp;
  readonly provider: TestIdentityProvider;
  /** A new one each time, without cookies. */
  browse(): TestBrowser;
  close(): Promise<void>;
}

export async function startProviderApp(environment: Record<string, string> = {}): Promise<ProviderApp> {
  const provider = await startIdentityProvider({ redirectUris: [`${publicUrl}/api/v1/auth/google/callback`] });
  const identity = { OIDC_ISSUER: provider.issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret };
  const app = await startTestApp({ BASE_URL: publicUrl, ...identity, ...environment });
  return {
    app,
    provider,
    browse: () => new TestBrowser(publicUrl, app.address),
    close: async () => {
      await app.close();
      await provider.close();
    },
  };
}
