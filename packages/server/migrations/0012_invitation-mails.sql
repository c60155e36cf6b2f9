CREATE TABLE "invitation_mails" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "invitation_mails_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"organization_id" text NOT NULL,
	"email" text NOT NULL,
	"sent_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "invitation_mails" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "invitation_mails" ADD CONSTRAINT "invitation_mails_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "invitation_mails_by_organization" ON "invitation_mails" USING btree ("organization_id","sent_at");--> statement-breakpoint
CREATE POLICY "tenant" ON "invitation_mails" AS PERMISSIVE FOR ALL TO "holdfast_tenant" USING ("invitation_mails"."organization_id" = nullif(current_setting('holdfast.organization_id', true), '')) WITH CHECK ("invitation_mails"."organization_id" = nullif(current_setting('holdfast.organization_id', true), ''));--> statement-breakpoint
CREATE POLICY "system" ON "invitation_mails" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);