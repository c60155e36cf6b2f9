import manifest from './package.json' with { type: 'json' };

/** The running version, as GET /health tells it. */
export const version: string = manifest.version;
