/** A quiet reminder for the owner, until the recovery kit has been taken. Shown once the service knows of kits. */
export function RecoveryKitBar() {
  return null;
}
