export { serveGoogleControl } from './control-server.ts';
export {
  type GoogleSandbox,
  type GoogleSandboxControl,
  type GoogleSandboxOptions,
  startGoogleSandbox,
} from './server.ts';
export type { AuthUser, ServiceAccountKey } from './state.ts';
