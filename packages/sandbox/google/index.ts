export { serveGoogleControl } from './control-server.ts';
export type { Fault, FaultKind } from './faults.ts';
export {
  type GoogleSandbox,
  type GoogleSandboxControl,
  type GoogleSandboxOptions,
  startGoogleSandbox,
} from './server.ts';
export type { AuthUser, DatabaseSeed, OAuthClient, Person, ProjectSeed, Role, ServiceAccountKey } from './state.ts';
